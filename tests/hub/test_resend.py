"""Dead letters that are sent again."""

from collections.abc import Callable

import anyio
import pytest
from anyio import to_thread
from tests.hub._agents import Gate, Ping, echo

from stagepost.hub import (
    AgentNotFound,
    Context,
    DeadLetterNotFound,
    Hub,
    HubNotStarted,
    InvalidArgument,
    MailboxFull,
    Message,
    MessageType,
    NoHandler,
    Outgoing,
    Priority,
    Proceed,
    RequestTimeout,
    SendOn,
    WrongThread,
)
from stagepost.hub.testing import Probe, VirtualClock, idle


async def expired(hub: Hub, gate: Gate, clock: VirtualClock) -> None:
    """Let the message that waits in the mailbox of a gate expire."""
    await clock.advance(2)
    gate.opened.set()
    await idle(hub)


async def test_a_dead_letter_is_sent_again_as_a_new_message_with_it_as_the_cause() -> None:
    clock, gate = VirtualClock(), Gate()
    seen: list[Message[Ping]] = []

    async def note(message: Message[Ping]) -> None:
        seen.append(message)

    async with Hub(clock=clock) as hub:
        hub.register(gate)
        await hub.send("gate", Ping(1))
        await gate.entered.wait()
        await hub.send("gate", Ping(2), ttl=1, sender="teller", headers={"a": "b"}, priority=Priority.HIGH, trace="t1")
        await expired(hub, gate, clock)
        await hub.unregister("gate")
        hub.register("gate", note)
        (letter,) = hub.dead_letters
        await hub.resend(letter, by="ada")
        await idle(hub)
        assert hub.dead_letters == ()
        assert hub.metrics().dead == 1
    (message,) = seen
    assert (message.data, message.sender, message.priority, message.trace) == (Ping(2), "teller", Priority.HIGH, "t1")
    assert message.headers == {"a": "b", "resent-by": "ada"}
    assert message.cause == letter.message.id != message.id
    assert message.type is MessageType.NOTIFICATION
    assert message.deadline is None


async def test_a_publication_keeps_its_topic_and_goes_to_the_one_that_missed_it() -> None:
    gate, other = Gate(), Probe("other")
    topics: list[str | None] = []

    async def note(ping: Ping, context: Context) -> None:
        topics.append(context.message.topic)

    async with Hub() as hub:
        hub.register(gate, topics=["pings.*"], mailbox=1)
        hub.register(other, topics=["pings.*"])
        await hub.send("gate", Ping(1))
        await gate.entered.wait()
        await hub.send("gate", Ping(2))
        delivery = await hub.publish("pings.small", Ping(3))
        assert delivery.full == ("gate",)
        gate.opened.set()
        await idle(hub)
        await hub.unregister("gate")
        hub.register("gate", note)
        await hub.resend(hub.dead_letters[0].message.id)
        await idle(hub)
    assert topics == ["pings.small"]
    assert other.payloads == [Ping(3)]


async def test_a_request_is_sent_again_one_way() -> None:
    gate = Gate()
    async with Hub() as hub:
        hub.register(gate)
        await hub.send("gate", Ping(1))
        await gate.entered.wait()
        with pytest.raises(RequestTimeout):
            await hub.request("gate", Ping(2), timeout=0.001)
        gate.opened.set()
        await idle(hub)
        await hub.resend(hub.dead_letters[0])
        await idle(hub)
        assert gate.seen == [1, 2]
        assert hub.dead_letters == ()


async def test_a_letter_whose_recipient_is_gone_is_refused_and_stays() -> None:
    clock, gate = VirtualClock(), Gate()
    async with Hub(clock=clock) as hub:
        hub.register(gate)
        await hub.send("gate", Ping(1))
        await gate.entered.wait()
        await hub.send("gate", Ping(2), ttl=1)
        await expired(hub, gate, clock)
        await hub.unregister("gate")
        (letter,) = hub.dead_letters
        with pytest.raises(AgentNotFound, match="no agent 'gate'"):
            await hub.resend(letter)
        hub.register("gate", say)
        with pytest.raises(NoHandler):
            await hub.resend(letter)
        assert hub.dead_letters == (letter,)
        assert hub.metrics().refused == 2


async def say(text: str) -> None:
    """Takes something else."""


async def test_a_letter_is_sent_once_whoever_else_tries() -> None:
    gate = Gate()
    outcomes: list[object] = []

    async def resend(hub: Hub, message_id: str, timeout: float | None) -> None:
        try:
            await hub.resend(message_id, timeout=timeout)
            outcomes.append(None)
        except DeadLetterNotFound as error:
            outcomes.append(error.message_id)

    async with Hub() as hub, anyio.create_task_group() as tasks:
        hub.register(gate, mailbox=1)
        await hub.send("gate", Ping(1))
        await gate.entered.wait()
        await hub.send("gate", Ping(2))
        await hub.broadcast(Ping(3))
        (letter,) = hub.dead_letters
        with pytest.raises(MailboxFull):
            await hub.resend(letter, timeout=0)
        tasks.start_soon(resend, hub, letter.message.id, None)
        await anyio.wait_all_tasks_blocked()
        await resend(hub, letter.message.id, 0)
        gate.opened.set()
        await anyio.wait_all_tasks_blocked()
        await resend(hub, letter.message.id, 0)
        await idle(hub)
    assert outcomes == [letter.message.id, None, letter.message.id]
    assert gate.seen == [1, 2, 3]


async def test_a_late_reply_is_refused() -> None:
    gate = Gate()
    async with Hub() as hub:
        hub.register(gate, detach=True)
        with pytest.raises(RequestTimeout):
            await hub.request("gate", Ping(1), timeout=0.01)
        gate.opened.set()
        await idle(hub)
        (letter,) = hub.dead_letters
        with pytest.raises(InvalidArgument, match="nobody waits for it any more"):
            await hub.resend(letter)
        assert hub.dead_letters == (letter,)


async def test_what_is_no_letter_is_refused() -> None:
    with pytest.raises(HubNotStarted):
        await Hub().resend("some-id")
    async with Hub() as hub:
        with pytest.raises(DeadLetterNotFound, match="no dead letter 'some-id'"):
            await hub.resend("some-id")
        with pytest.raises(InvalidArgument):
            await hub.resend(7)  # type: ignore[arg-type]  # that is the point


async def test_sending_middleware_sees_what_is_sent_again() -> None:
    class Stamps:
        def __init__(self) -> None:
            self.outgoing: list[Outgoing] = []

        async def __call__(self, _: Context, proceed: Proceed) -> object:
            return await proceed()

        async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
            self.outgoing.append(outgoing)
            return await send_on({**outgoing.headers, "stamp": "7"})

    clock, stamps, gate = VirtualClock(), Stamps(), Gate()
    seen: list[Message[Ping]] = []

    async def note(message: Message[Ping]) -> None:
        seen.append(message)

    async with Hub(middleware=[stamps], clock=clock) as hub:
        hub.register(gate)
        await hub.send("gate", Ping(1))
        await gate.entered.wait()
        await hub.send("gate", Ping(2), ttl=1)
        await expired(hub, gate, clock)
        await hub.unregister("gate")
        hub.register("gate", note)
        await hub.resend(hub.dead_letters[0], by="ada")
        await idle(hub)
    last = stamps.outgoing[-1]
    assert (last.recipient, last.data, last.type) == ("gate", Ping(2), MessageType.NOTIFICATION)
    assert seen[0].headers == {"stamp": "7", "resent-by": "ada"}


async def test_another_thread_is_refused() -> None:
    def call(resend: Callable[[], object]) -> None:
        anyio.run(resend)  # type: ignore[arg-type]  # an async function

    async with Hub() as hub:
        hub.register("echo", echo)

        async def resend() -> None:
            with pytest.raises(WrongThread):
                await hub.resend("some-id")

        await to_thread.run_sync(call, resend)
