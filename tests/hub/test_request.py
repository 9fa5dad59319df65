import time

import pytest
from anyio import CancelScope, create_task_group, fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, Relay, echo, error_of, fail, until

from stagepost.hub import (
    AgentStopped,
    Context,
    HandlerFailed,
    Hub,
    HubStopped,
    Message,
    RequestCycle,
    RequestTimeout,
    UnexpectedReply,
    handles,
)
from stagepost.hub.testing import idle


async def test_a_request_returns_what_the_handler_returns() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            assert await hub.request("echo", Ping(3), expect=Pong) == Pong(3)
            assert await hub.request("echo", Ping(4)) == Pong(4)


async def test_the_error_of_a_handler_reaches_the_requester_at_once() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("fail", fail)
            with pytest.raises(
                HandlerFailed, match=r"agent 'fail' failed in .*_agents.fail: ZeroDivisionError: no"
            ) as caught:
                await hub.request("fail", Ping(), timeout=None)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.cause is caught.value.__cause__
    assert hub.metrics().failed == 1


async def test_a_reply_of_another_class_is_an_error_that_holds_the_reply() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            with pytest.raises(UnexpectedReply, match="replied with Pong, not str") as caught:
                await hub.request("echo", Ping(1), expect=str)
    assert caught.value.reply == Pong(1)


async def test_a_timeout_cancels_the_handler() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            with pytest.raises(RequestTimeout, match="its handler was still running") as caught:
                await hub.request("gate", Ping(), timeout=0.05)
            assert isinstance(caught.value, TimeoutError)
            assert caught.value.stage == "handler"
            assert caught.value.timeout == pytest.approx(0.05)
            await gate.cancelled.wait()
            gate.opened.set()
            assert await hub.request("gate", Ping(2), expect=Pong) == Pong(2)
    assert hub.metrics().cancelled == 1


async def test_a_timeout_in_the_mailbox_buries_the_request() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping(1))
            with pytest.raises(RequestTimeout, match="was still waiting in its mailbox"):
                await hub.request("gate", Ping(2), timeout=0.05)
            gate.opened.set()
    assert gate.seen == [1]
    assert hub.metrics().dead == 1


def spin(seconds: float) -> None:
    """Keep the event loop from noticing deadlines."""
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        pass


@pytest.mark.parametrize("detach", [False, True], ids=["attached", "detached"])
async def test_nobody_begins_with_a_request_whose_time_is_up_unless_detached(*, detach: bool) -> None:
    seen: list[int] = []

    async def block(ping: Ping) -> None:
        seen.append(ping.number)
        spin(0.03)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("block", block, detach=detach)
            await hub.send("block", Ping(1))
            errors: list[RequestTimeout] = []
            await error_of(RequestTimeout, lambda: hub.request("block", Ping(2), timeout=0.01), errors)
    assert errors or detach
    assert seen == ([1, 2] if detach else [1])
    assert hub.metrics().dead == (0 if detach else 1)


async def test_a_failure_after_the_deadline_is_a_timeout_with_its_cause() -> None:
    async def too_late(ping: Ping) -> None:
        spin(0.02)
        raise ZeroDivisionError

    with fail_after(5):
        async with Hub() as hub:
            hub.register("late", too_late)
            with pytest.raises(RequestTimeout) as caught:
                await hub.request("late", Ping(), timeout=0.01)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert hub.metrics().failed == 1


async def test_a_withdrawn_request_makes_room_for_those_in_line() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(0))
            await gate.entered.wait()
            tasks.start_soon(error_of, RequestTimeout, lambda: hub.request("gate", Ping(1), timeout=0.05), [])
            await until(lambda: hub.metrics().accepted == 2)
            await hub.send("gate", Ping(2), timeout=None)
            assert hub.metrics().dead == 1
            gate.opened.set()
    assert gate.seen == [0, 2]


async def test_a_timeout_before_there_is_room_leaves_no_trace() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(1))
            await gate.entered.wait()
            await hub.send("gate", Ping(2))
            with pytest.raises(RequestTimeout, match="its mailbox stayed full"):
                await hub.request("gate", Ping(3), timeout=0.05)
            gate.opened.set()
    assert gate.seen == [1, 2]
    assert hub.metrics().accepted == 2


async def test_a_request_waits_for_room() -> None:
    gate = Gate()
    replies: list[object] = []

    async def ask(hub: Hub) -> None:
        replies.append(await hub.request("gate", Ping(3)))

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1)
            await hub.send("gate", Ping(1))
            await gate.entered.wait()
            await hub.send("gate", Ping(2))
            tasks.start_soon(ask, hub)
            await until(lambda: bool(hub._directory.endpoints()[0].workers.mailbox.blocked))
            gate.opened.set()
    assert replies == [Pong(3)]


async def test_a_deadline_that_has_passed_is_not_even_sent() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            with pytest.raises(RequestTimeout, match="within 0 s: the time was up before the request was sent"):
                await hub.request("echo", Ping(), timeout=0)
    assert hub.metrics().accepted == 0


async def test_a_cancelled_requester_cancels_the_handler() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate)
            tasks.start_soon(hub.request, "gate", Ping())
            await gate.entered.wait()
            tasks.cancel_scope.cancel()
        assert gate.cancelled.is_set()
    assert hub.metrics().cancelled == 1


async def test_a_cancelled_requester_withdraws_what_is_queued() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            await hub.send("gate", Ping(1))
            await gate.entered.wait()
            with CancelScope() as scope:
                async with create_task_group() as tasks:
                    tasks.start_soon(hub.request, "gate", Ping(2))
                    await until(lambda: hub.metrics().accepted == 2)
                    scope.cancel()
            gate.opened.set()
    assert gate.seen == [1]
    assert hub.metrics().cancelled == 1


async def test_a_detached_handler_outlives_its_requester_and_its_reply_is_late() -> None:
    gate = Gate()
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register(gate, detach=True)
            with pytest.raises(RequestTimeout):
                await hub.request("gate", Ping(1), timeout=0.05)
            with pytest.raises(RequestTimeout):
                await hub.request("gate", Ping(2), timeout=0.05)
            gate.opened.set()
            await idle(hub)
            assert gate.seen == [1, 2]
            assert hub.metrics().handled == 2
            assert hub.metrics().late_replies == 2
    assert recorder.names.count("ReplyLate") == 2


async def test_a_detached_handling_has_no_deadline() -> None:
    seen: list[float | None] = []

    async def note(message: Message[Ping]) -> None:
        seen.append(message.deadline)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("note", note, detach=True)
            await hub.request("note", Ping())
    assert seen == [None]


async def test_a_late_reply_never_reaches_a_handler() -> None:
    class Stubborn:
        """Swallows its cancellation and replies all the same."""

        id = "stubborn"

        def __init__(self) -> None:
            self.gate = Gate()

        @handles
        async def reply(self, ping: Ping) -> Pong:
            try:
                await self.gate.pass_through(ping)
            except BaseException:  # noqa: BLE001 - the point of the test
                return Pong(-1)
            return Pong(1)

    class Asker:
        id = "asker"

        def __init__(self) -> None:
            self.got: list[Pong] = []

        @handles
        async def ask(self, ping: Ping, context: Context) -> None:
            with pytest.raises(RequestTimeout):
                await context.request("stubborn", ping, timeout=0.05)

        @handles
        async def unexpected(self, pong: Pong) -> None:
            self.got.append(pong)

    asker = Asker()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(asker)
            hub.register(Stubborn())
            await hub.request("asker", Ping())
            await idle(hub)
    assert asker.got == []
    assert hub.metrics().late_replies == 1
    assert hub.metrics().handled == 2


async def test_a_late_error_harms_nobody() -> None:
    async def bitter(ping: Ping) -> None:
        try:
            await Gate().opened.wait()
        finally:
            raise ZeroDivisionError

    with fail_after(5):
        async with Hub() as hub:
            hub.register("bitter", bitter)
            hub.register("echo", echo)
            with pytest.raises(RequestTimeout):
                await hub.request("bitter", Ping(), timeout=0.05)
            await idle(hub)
            assert await hub.request("echo", Ping(1)) == Pong(1)
    assert hub.metrics().failed == 1


async def test_requests_inherit_the_deadline_and_the_minimum_wins() -> None:
    gate = Gate()
    errors: list[HandlerFailed | RequestTimeout] = []
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate)
            hub.register(Relay("relay", "gate", timeout=60))
            with pytest.raises(RequestTimeout):
                await hub.request("relay", Ping(), timeout=0.1)
            await gate.cancelled.wait()  # in 0.1 s, not in the relay's 60
            hub.register(Relay("hasty", "gate", timeout=0.05))
            await error_of(HandlerFailed, lambda: hub.request("hasty", Ping(), timeout=60), errors)
    assert isinstance(errors[0].__cause__, RequestTimeout)


async def test_a_message_knows_its_cause_its_trace_and_who_waits() -> None:
    seen: list[Message[Ping]] = []

    async def first(ping: Ping, context: Context) -> None:
        assert context.agent == "first"
        assert context.message is context.message
        seen.append(context.message)
        await context.request("second", ping, headers={"h": "1"})
        await context.send("second", ping)

    async def second(message: Message[Ping]) -> None:
        seen.append(message)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("first", first)
            hub.register("second", second)
            await hub.request("first", Ping(), trace="t-9")
    origin, asked, told = seen
    assert (origin.cause, origin.chain, origin.trace) == (None, (), "t-9")
    assert (asked.cause, asked.chain, asked.trace, asked.sender) == (origin.id, ("first",), "t-9", "first")
    assert (told.cause, told.chain, told.trace, told.deadline) == (origin.id, (), "t-9", None)
    assert asked.deadline == origin.deadline


async def test_a_circle_of_requests_is_found_at_once() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register(Relay("a", "b"))
            hub.register(Relay("b", "c"))
            hub.register(Relay("c", "a"))
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("a", Ping(), timeout=None)
    cause: BaseException = caught.value
    while isinstance(cause, HandlerFailed):
        cause = cause.cause
    assert isinstance(cause, RequestCycle)
    assert cause.chain == ("a", "b", "c", "a")


async def test_an_agent_with_a_free_worker_may_be_asked_in_a_circle() -> None:
    class Countdown:
        id = "countdown"

        @handles
        async def down(self, ping: Ping, context: Context) -> Pong:
            if ping.number == 0:
                return Pong(0)
            return await context.request("countdown", Ping(ping.number - 1), expect=Pong)

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Countdown(), concurrency=3)
            assert await hub.request("countdown", Ping(2), expect=Pong) == Pong(0)
            with pytest.raises(HandlerFailed):
                await hub.request("countdown", Ping(3), timeout=None)


async def test_a_requester_hears_when_the_agent_goes() -> None:
    gate = Gate()
    errors: list[AgentStopped] = []
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate)
            for number in range(2):
                tasks.start_soon(
                    error_of,
                    AgentStopped,
                    lambda number=number: hub.request("gate", Ping(number), timeout=None),
                    errors,
                )
            await gate.entered.wait()
            await until(lambda: hub.metrics().accepted == 2)
            await hub.unregister("gate", drain=False)
    assert len(errors) == 2
    assert (hub.metrics().cancelled, hub.metrics().dead) == (1, 1)


async def test_a_requester_hears_when_the_hub_stops() -> None:
    gate = Gate()
    errors: list[HubStopped] = []
    with fail_after(5):
        async with create_task_group() as tasks, Hub(grace=0.05) as hub:
            hub.register(gate)
            for number in range(2):
                tasks.start_soon(
                    error_of, HubStopped, lambda number=number: hub.request("gate", Ping(number), timeout=None), errors
                )
            await until(lambda: hub.metrics().accepted == 2)
            await checkpoint()
    assert len(errors) == 2
    assert (hub.metrics().cancelled, hub.metrics().dead) == (1, 1)
