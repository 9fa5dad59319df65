import asyncio

import pytest
from anyio import CancelScope, create_task_group, fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, echo, error_of, until

from stagepost.hub import AgentStopped, Context, Hub, HubStopped, MailboxFull, NoHandler, handles
from stagepost.hub.testing import idle


async def test_a_send_returns_before_the_message_is_handled() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping(1))
            assert gate.seen == []
            gate.opened.set()
            await idle(hub)
            assert gate.seen == [1]


async def test_a_payload_without_a_handler_is_refused_at_the_sender() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            with pytest.raises(NoHandler):
                await hub.send("echo", "text")
            assert hub.metrics().accepted == 0


async def test_a_send_waits_for_room_and_keeps_the_order() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            for number in range(1, 6):
                tasks.start_soon(hub.send, "gate", Ping(number))
                await checkpoint()
            await until(lambda: len(hub._directory.endpoints()[0].workers.mailbox.blocked) == 4)
            gate.opened.set()
    assert gate.seen == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("timeout", [0, 0.01], ids=["at once", "in time"])
async def test_without_room_in_time_the_mailbox_is_full(timeout: float) -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            with pytest.raises(MailboxFull, match=r"mailbox of agent 'gate' is full \(1 messages\)") as caught:
                await hub.send("gate", Ping(2), timeout=timeout)
            assert caught.value.mailbox == 1
            gate.opened.set()
    assert gate.seen == [0, 1]
    assert hub.metrics().accepted == 2


async def test_a_cancelled_sender_leaves_nothing_in_the_line() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            with CancelScope() as scope:
                tasks.start_soon(_cancel_when_blocked, hub, scope)
                await hub.send("gate", Ping(2))
            gate.opened.set()
    assert gate.seen == [0, 1]


async def _cancel_when_blocked(hub: Hub, scope: CancelScope) -> None:
    await until(lambda: bool(hub._directory.endpoints()[0].workers.mailbox.blocked))
    scope.cancel()


async def test_a_waiting_sender_hears_when_the_agent_goes() -> None:
    gate = Gate()
    errors: list[AgentStopped] = []
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            tasks.start_soon(error_of, AgentStopped, lambda: hub.send("gate", Ping(2), timeout=None), errors)
            await until(lambda: bool(hub._directory.endpoints()[0].workers.mailbox.blocked))
            await hub.unregister("gate", drain=False)
    assert len(errors) == 1


async def test_a_waiting_sender_hears_when_the_hub_stops() -> None:
    gate = Gate()
    errors: list[HubStopped] = []
    with fail_after(5):
        async with create_task_group() as tasks, Hub(grace=0) as hub:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            tasks.start_soon(error_of, HubStopped, lambda: hub.send("gate", Ping(2), timeout=None), errors)
            await until(lambda: bool(hub._directory.endpoints()[0].workers.mailbox.blocked))
    assert len(errors) == 1
    assert hub.metrics().dead == 1


async def test_sending_to_oneself_never_waits() -> None:
    class Chatter:
        id = "chatter"

        @handles
        async def talk(self, _: Ping, context: Context) -> bool:
            await context.send("chatter", 1)
            try:
                await context.send("chatter", 2)
            except MailboxFull as error:
                return error.to_self
            return False

        @handles
        async def listen(self, number: int) -> None: ...

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Chatter(), mailbox=1)
            assert await hub.request("chatter", Ping(), expect=bool)


async def test_a_limitless_mailbox_takes_all() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=None)
            for number in range(1000):
                await hub.send("gate", Ping(number), timeout=0)
            gate.opened.set()
    assert len(gate.seen) == 1000
    assert gate.seen == list(range(1000))


async def test_a_handler_without_concurrency_limit_starts_for_each_message() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, concurrency=None, mailbox=1)
            for number in range(50):
                await hub.send("gate", Ping(number))
            await until(lambda: len(gate.seen) == 50)
            gate.opened.set()
            await idle(hub)
            await until(lambda: len(hub._directory.endpoints()[0].workers.staff) <= 9)
            await hub.send("gate", Ping(50))
    assert sorted(gate.seen) == list(range(51))


async def test_concurrency_bounds_how_many_are_handled_at_once() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, concurrency=3)
            for number in range(10):
                await hub.send("gate", Ping(number))
            await until(lambda: len(gate.seen) == 3)
            for _ in range(20):
                await checkpoint()
            assert len(gate.seen) == 3
            gate.opened.set()
    assert len(gate.seen) == 10


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_message_stays_that_got_room_before_its_sender_was_cancelled(anyio_backend: str) -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            sending = asyncio.ensure_future(hub.send("gate", Ping(2)))
            await until(lambda: hub.metrics().blocked == 1)
            (endpoint,) = hub._directory.endpoints()
            endpoint.workers.mailbox.queue.popleft()
            endpoint.workers.admit()
            sending.cancel()
            await until(sending.done)
            assert hub.metrics().depths == {"gate": 1}
            assert hub._engine is not None
            hub._engine.account.handled += 1  # the one taken out by hand
            gate.opened.set()
    assert gate.seen == [0, 2]
