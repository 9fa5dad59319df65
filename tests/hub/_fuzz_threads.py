"""Calls of a hub from a thread that is not its own."""

from collections.abc import Awaitable, Callable
from threading import Thread

import anyio

from stagepost.hub import Hub, HubError


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
