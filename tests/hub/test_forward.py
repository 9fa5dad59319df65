import pytest
from anyio import CancelScope, create_task_group, fail_after
from tests.hub._agents import Gate, Ping, Pong, Relay, echo, fail, until

from stagepost.hub import (
    AgentNotFound,
    AlreadyForwarded,
    Context,
    DeadLetter,
    DeadReason,
    HandlerFailed,
    Hub,
    MailboxFull,
    Message,
    RequestTimeout,
)
from stagepost.hub.testing import idle


class Front:
    """Hands everything on to one agent."""

    def __init__(self, target: str) -> None:
        self.target = target

    async def take(self, _: Ping, context: Context) -> str:
        await context.forward(self.target)
        return "this is not looked at"


async def test_the_requester_gets_the_reply_of_the_one_it_was_forwarded_to() -> None:
    seen: list[Message[Ping]] = []

    async def back(message: Message[Ping]) -> Pong:
        seen.append(message)
        return Pong(message.data.number)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("front", Front("middle").take)
            hub.register("middle", Front("back").take)
            hub.register("back", back)
            assert await hub.request("front", Ping(3), expect=Pong, sender="me", headers={"a": "b"}) == Pong(3)
            await idle(hub)
    assert (seen[0].sender, seen[0].headers, seen[0].type) == ("me", {"a": "b"}, "request")
    assert hub.metrics().late_replies == 0
    assert hub.metrics().handled == 3


async def test_another_payload_may_be_forwarded_and_the_error_comes_back() -> None:
    async def front(ping: Ping, context: Context) -> None:
        await context.forward("back", Ping(ping.number + 1))

    with fail_after(5):
        async with Hub() as hub:
            hub.register("front", front)
            hub.register("back", echo)
            assert await hub.request("front", Ping(1), expect=Pong) == Pong(2)
            hub.register("bad", Front("fail").take)
            hub.register("fail", fail)
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("bad", Ping())
    assert caught.value.recipient == "fail"


async def test_the_deadline_of_a_forwarded_request_stays() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("front", Front("gate").take)
            hub.register(gate)
            with pytest.raises(RequestTimeout) as caught:
                await hub.request("front", Ping(), timeout=0.03)
            await gate.cancelled.wait()
    assert caught.value.recipient == "gate"


async def test_cancelling_the_requester_cancels_the_one_it_was_forwarded_to() -> None:
    gate, scope = Gate(), CancelScope()

    async def ask(hub: Hub) -> None:
        with scope:
            await hub.request("front", Ping())

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("front", Front("gate").take)
            hub.register(gate)
            tasks.start_soon(ask, hub)
            await gate.entered.wait()
            scope.cancel()
            await gate.cancelled.wait()


async def test_a_requester_waits_in_line_for_whom_it_was_forwarded_to() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("front", Front("gate").take)
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            await hub.send("gate", Ping(1))
            tasks.start_soon(hub.request, "front", Ping(2))
            await until(lambda: hub.metrics().blocked == 1)
            gate.opened.set()
    assert gate.seen == [0, 1, 2]


async def test_what_cannot_be_forwarded_is_an_error_in_the_handler() -> None:
    errors: list[Exception] = []

    async def front(ping: Ping, context: Context) -> Pong:
        for target in ("nobody", "full"):
            try:
                await context.forward(target)
            except (AgentNotFound, MailboxFull) as error:
                errors.append(error)
        return Pong(9)

    gate = Gate("full")
    with fail_after(5):
        async with Hub(grace=0) as hub:
            hub.register("front", front)
            hub.register(gate, mailbox=1, overflow="reject")
            await hub.send("full", Ping())
            await gate.entered.wait()
            await hub.send("full", Ping())
            assert await hub.request("front", Ping(), expect=Pong) == Pong(9)
    assert [type(error) for error in errors] == [AgentNotFound, MailboxFull]


async def test_a_request_is_forwarded_once() -> None:
    refused: list[str] = []

    async def front(ping: Ping, context: Context) -> None:
        await context.forward("back")
        with pytest.raises(AlreadyForwarded) as caught:
            await context.forward("back")
        refused.append(caught.value.recipient)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("front", front)
            hub.register("back", echo)
            assert await hub.request("front", Ping(1)) == Pong(1)
            await idle(hub)
    assert refused == ["back"]


async def test_one_way_messages_are_forwarded_with_their_sender() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("front", Front("gate").take, concurrency=3)
            hub.register(gate, mailbox=1)
            for number in range(3):
                await hub.send("front", Ping(number), sender="me", ttl=60)
            await until(lambda: hub.metrics().blocked == 1)
            gate.opened.set()
    assert gate.seen == [0, 1, 2]
    assert hub.metrics().handled == 6


async def test_a_late_reply_is_a_dead_letter_of_its_own() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("relay", Relay("relay", "gate", timeout=None))
            hub.register(gate, detach=True)
            with pytest.raises(RequestTimeout):
                await hub.request("gate", Ping(4), timeout=0.02, sender="me")
            gate.opened.set()
            await idle(hub)
    letter: DeadLetter = hub.dead_letters[-1]
    message = letter.message
    assert letter.reason is DeadReason.LATE_REPLY
    assert (message.type, message.sender, message.recipient, message.data) == ("response", "gate", "me", Pong(4))
    assert message.reply_to is not None
    assert hub.metrics().late_replies == 1


async def test_dead_letters_are_kept_up_to_a_number() -> None:
    for limit, kept in ((0, []), (2, [Ping(3), Ping(4)])):
        gate = Gate()
        with fail_after(5):
            async with Hub(grace=0, dead_letters=limit) as hub:
                hub.register(gate)
                for number in range(5):
                    await hub.send("gate", Ping(number))
                await gate.entered.wait()
        assert [letter.message.data for letter in hub.dead_letters] == kept
        assert hub.metrics().dead == 4
    assert Hub().dead_letters == ()


async def test_a_request_that_is_forwarded_when_nobody_waits_any_more_leaves_no_deadline_behind() -> None:
    gate = Gate()

    async def front(ping: Ping, context: Context) -> None:
        await gate.pass_through(ping)
        await context.forward("back")

    with fail_after(5):
        async with Hub() as hub:
            hub.register("front", front, detach=True)
            hub.register("back", echo)
            async with create_task_group() as tasks:
                tasks.start_soon(hub.request, "front", Ping())
                await gate.entered.wait()
                tasks.cancel_scope.cancel()
            gate.opened.set()
            await idle(hub)
            assert hub._engine is not None
            assert not any(hub._engine.deadlines._buckets.values())
    assert (hub.metrics().handled, hub.metrics().late_replies) == (2, 1)


async def test_a_request_that_has_its_reply_goes_on_as_a_one_way_message_without_a_deadline() -> None:
    kept, heard = list[Context](), list[Message[Ping]]()

    async def front(_: Ping, context: Context) -> str:
        kept.append(context)
        return "reply"

    async def back(message: Message[Ping]) -> None:
        heard.append(message)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("front", front)
            hub.register("back", back)
            assert await hub.request("front", Ping(1), timeout=60, sender="me") == "reply"
            await kept[0].forward("back", Ping(2))
            await idle(hub)
            assert hub._engine is not None
            assert not any(hub._engine.deadlines._buckets.values())
    assert [(message.type, message.sender, message.data) for message in heard] == [("notification", "me", Ping(2))]
