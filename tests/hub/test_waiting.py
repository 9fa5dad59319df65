"""Senders who wait and are cancelled get their cancellation, whatever became of their message meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from anyio import CancelScope, create_task_group, fail_after, get_cancelled_exc_class, move_on_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Recorder, until

from stagepost.hub import Context, DeliveryError, Hub, MailboxFull, MessageDead, RequestTimeout

WAITS: dict[str, Callable[[Hub], Awaitable[object]]] = {
    "send": lambda hub: hub.send("gate", Ping(7)),
    "request": lambda hub: hub.request("gate", Ping(7)),
    "publish": lambda hub: hub.publish("full", Ping(7), timeout=60),
    "broadcast": lambda hub: hub.broadcast(Ping(7), timeout=60),
    "forward": lambda hub: hub.request("front", "go"),
}

ENDS: dict[str, Callable[[Hub, Gate], Awaitable[object]]] = {
    "unregistered": lambda hub, _: hub.unregister("gate", drain=False),
    "drained": lambda hub, _: hub.drain(timeout=0),
    "handled": lambda _, gate: open_gate(gate),
    "nothing": lambda *_: checkpoint(),
}


async def open_gate(gate: Gate) -> None:
    gate.opened.set()


async def front(text: str, context: Context) -> None:
    await context.forward("gate", Ping(7))


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
async def test_whoever_waits_and_is_cancelled_is_told_that_or_why_there_is_no_room(
    wait: Callable[[Hub], Awaitable[object]], end: Callable[[Hub, Gate], Awaitable[object]]
) -> None:
    gate, scope, outcomes = Gate(), CancelScope(), list[type[BaseException]]()

    async def ask(hub: Hub) -> None:
        with scope, suppress(DeliveryError):
            try:
                await wait(hub)
            except BaseException as error:
                outcomes.append(type(error))
                raise

    async def cut(hub: Hub) -> None:
        await end(hub, gate)

    with fail_after(10):
        async with Hub(grace=0) as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1, topics=["full"])
            hub.register("front", front)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            tasks.start_soon(ask, hub)
            await until(lambda: hub.metrics().blocked == 1)
            tasks.start_soon(cut, hub)
            await checkpoint()
            scope.cancel()
    assert all(issubclass(outcome, (get_cancelled_exc_class(), DeliveryError)) for outcome in outcomes)
    assert hub.metrics().in_flight == 0


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
async def test_whoever_is_cancelled_in_the_moment_of_the_end_is_told_nothing_internal(
    wait: Callable[[Hub], Awaitable[object]],
) -> None:
    gate, scope, outcomes = Gate(), CancelScope(), list[BaseException]()

    async def ask(hub: Hub) -> None:
        with scope, suppress(DeliveryError):
            try:
                await wait(hub)
            except (get_cancelled_exc_class(), DeliveryError):
                raise
            except BaseException as error:  # noqa: BLE001 - nothing else may come
                outcomes.append(error)

    with fail_after(10):
        async with Hub(grace=0) as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1, topics=["full"])
            hub.register("front", front)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            tasks.start_soon(ask, hub)
            await until(lambda: hub.metrics().blocked == 1)
            (endpoint,) = (endpoint for endpoint in hub._directory.endpoints() if endpoint.id == "gate")
            hub.terminate("gate", ZeroDivisionError())
            assert not endpoint.workers.mailbox.blocked
            scope.cancel()
    assert outcomes == []
    assert hub.metrics().in_flight == 0


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
async def test_a_task_that_asyncio_cancels_in_the_moment_of_the_end_is_cancelled(
    wait: Callable[[Hub], Awaitable[object]], anyio_backend: str
) -> None:
    async def ask(hub: Hub) -> None:
        await wait(hub)

    gate = Gate()
    with fail_after(10):
        async with Hub(grace=0) as hub:
            hub.register(gate, mailbox=1, topics=["full"])
            hub.register("front", front)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            task = asyncio.ensure_future(ask(hub))
            await until(lambda: hub.metrics().blocked == 1)
            hub.terminate("gate", ZeroDivisionError())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
    assert hub.metrics().in_flight == 0


@pytest.mark.parametrize("timeout", [0.0, 0.004, 0.01])
async def test_a_scope_and_a_timeout_that_end_together_harm_nobody(timeout: float) -> None:
    gate = Gate()

    async def send(hub: Hub) -> None:
        with move_on_after(timeout):
            try:
                await hub.send("gate", Ping(7), timeout=timeout)
            except MailboxFull:
                return

    async def request(hub: Hub) -> None:
        with move_on_after(timeout):
            try:
                await hub.request("gate", Ping(7), timeout=timeout)
            except RequestTimeout:
                return

    with fail_after(10):
        async with Hub() as hub:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            async with create_task_group() as tasks:
                for _ in range(50):
                    tasks.start_soon(send, hub)
                    tasks.start_soon(request, hub)
            assert hub.metrics().blocked == 0
            gate.opened.set()
    assert gate.seen == [0, 1]


async def test_a_message_that_got_room_as_its_sender_was_cancelled_keeps_its_time_to_live() -> None:
    gate, scope, recorder = Gate(), CancelScope(), Recorder()

    async def send(hub: Hub) -> None:
        with scope:
            await hub.send("gate", Ping(2), ttl=0.05)

    with fail_after(10):
        async with Hub(grace=0, observer=recorder) as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            scopes = CancelScope()

            async def occupy() -> None:
                with scopes:
                    await hub.request("gate", Ping(1))

            tasks.start_soon(occupy)
            await until(lambda: hub.metrics().depth == 1)
            tasks.start_soon(send, hub)
            await until(lambda: hub.metrics().blocked == 1)
            scopes.cancel()
            await until(lambda: hub.metrics().blocked == 0)
            scope.cancel()
            await until(lambda: any(isinstance(event, MessageDead) for event in recorder.events))
    assert gate.seen == [0]
