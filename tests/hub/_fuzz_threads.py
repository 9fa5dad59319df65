"""Calls of a hub from a thread that is not its own."""

import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

import anyio

from stagepost.hub import Hub, HubError, Portal

_PATIENCE = 5.0


def problem_of_a_foreign_call(hub: Hub, agent: str, payload: object, choice: int) -> str | None:
    """What is wrong with how a hub treats a call from another thread, in a loop of its own; None if it is refused."""
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: hub.send(agent, payload, timeout=0.1),
        lambda: hub.request(agent, payload, timeout=0.1),
        lambda: hub.publish("jobs.a", payload),
        lambda: hub.unregister(agent),
        lambda: hub.drain(0),
    ]
    ends: list[str] = []

    def work() -> None:
        try:
            anyio.run(calls[choice % len(calls)])
        except HubError:
            ends.append("refused")
        except BaseException as error:  # noqa: BLE001 - that is the question
            ends.append(f"{type(error).__name__}: {error}")
        else:
            ends.append("done")

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(5)
    return None if ends == ["refused"] else f"a call from another thread was not refused: {ends}"


async def call_by_portal(hub: Hub, call: Callable[[Portal], object]) -> Any:
    """Call in a thread through a portal, and wait for the end as others wait for calls of their own.

    Time is virtual, threads are not: the loop waits for the thread whenever it is the thread's turn, at the beginning
    and at the end, so that no time passes meanwhile.
    """
    ended, result = anyio.Event(), Future[Any]()
    crossings = hub.crossings()
    assert crossings is not None
    before = set(crossings._open)

    def work() -> None:
        try:
            result.set_result(call(hub.portal()))
        except BaseException as error:  # noqa: BLE001 - the client is told
            result.set_exception(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    until = time.monotonic() + _PATIENCE
    while not (new := crossings._open - before) and not result.done():
        assert time.monotonic() < until, "a thread did not call"
        time.sleep(0.0001)  # noqa: ASYNC251 - that is the point
    if not new:
        thread.join(_PATIENCE)
        return result.result(0)
    (crossing,) = new

    def end(_: object) -> None:
        thread.join(_PATIENCE)
        ended.set()

    crossing.future.add_done_callback(end)
    try:
        await ended.wait()
    except BaseException:
        crossing.give_up()
        raise
    return result.result(0)
