"""A request to many agents: the replies of those who answer in time, and what became of the others."""

import gc
import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from anyio import CancelScope, create_task_group, fail_after, to_thread
from anyio import Event as Flag
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, fail, until
from tests.hub._fuzz_laws import accounted_for

from stagepost.hub import (
    AgentStopped,
    Context,
    HandlerFailed,
    Hub,
    HubNotStarted,
    HubStopped,
    InvalidArgument,
    InvalidTopic,
    MailboxFull,
    Message,
    MessageType,
    NoHandler,
    Outgoing,
    Priority,
    Replies,
    RequestCycle,
    SendOn,
    UnexpectedReply,
    WrongThread,
    handles,
)
from stagepost.hub.testing import Probe, VirtualClock, idle


async def text(ping: Ping) -> str:
    return "pong"


async def only_text(text: str) -> None:
    pass


async def test_all_subscribers_reply() -> None:
    first, second = Probe("first", replies=[1]), Probe("second", replies=[2])
    with fail_after(5):
        async with Hub() as hub:
            hub.register(first, topics="a.>")
            hub.register(second, topics="a.b")
            hub.register("other", echo, topics="c")
            replies = await hub.request_many(
                "a.b", Ping(7), expect=int, sender="me", headers={"h": "1"}, priority=Priority.HIGH, cause="c"
            )
            assert dict(replies.received) == {"first": 1, "second": 2}
            assert (replies.failures, replies.unanswered, replies.complete) == ({}, (), True)
            assert hub.metrics().handled == 2
    one, other = first.messages[0], second.messages[0]
    assert (one.type, one.topic, one.sender, one.headers) == (MessageType.REQUEST, "a.b", "me", {"h": "1"})
    assert (one.priority, one.cause, one.trace) == (Priority.HIGH, "c", other.trace)
    assert one.trace == one.id != other.id


async def test_a_topic_without_subscribers_has_no_replies() -> None:
    async with Hub() as hub, hub.listen("a") as stream:
        replies = await hub.request_many("a", Ping(), trace="t")
        assert (replies.received, replies.complete) == ({}, True)
        assert hub.metrics().accepted == 0
    assert [message async for message in stream] == []


async def test_failures_are_values() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            for agent, handler in {"good": echo, "bad": fail, "deaf": only_text, "odd": text}.items():
                hub.register(agent, handler, topics="a")
            gate = Gate()
            hub.register(gate, topics="a", mailbox=1, overflow="reject")
            await hub.send("gate", Ping(1))
            await gate.entered.wait()
            await hub.send("gate", Ping(2))
            replies = await hub.request_many("a", Ping(3), expect=Pong)
            gate.opened.set()
        assert dict(replies.received) == {"good": Pong(3)}
        kinds = {agent: type(error) for agent, error in replies.failures.items()}
        assert kinds == {"bad": HandlerFailed, "deaf": NoHandler, "odd": UnexpectedReply, "gate": MailboxFull}
        bad = replies.failures["bad"]
        assert isinstance(bad, HandlerFailed)
        assert isinstance(bad.cause, ZeroDivisionError)
        assert (replies.unanswered, replies.complete) == ((), False)
        assert hub.metrics().refused == 2
    accounted_for(hub, recorder)


async def test_the_handlers_of_those_not_needed_are_cancelled() -> None:
    gates = [Gate(f"gate{number}") for number in range(3)]
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            for gate in gates:
                hub.register(gate, topics="a")
            hub.register("fast", echo, topics="a")
            replies = await hub.request_many("a", Ping(1), enough=1, timeout=None)
            assert list(replies.received) == ["fast"]
            assert sorted(replies.unanswered) == ["gate0", "gate1", "gate2"]
            await idle(hub)
            assert all(gate.cancelled.is_set() for gate in gates if gate.entered.is_set())
            assert hub.metrics().cancelled == 3
    accounted_for(hub, recorder)


async def test_nobody_is_asked_once_enough_have_replied() -> None:
    with fail_after(5):
        async with Hub() as hub:
            for number in range(2000):
                hub.register(f"agent{number}", echo, topics="a")
            replies = await hub.request_many("a", Ping(), enough=1)
            assert len(replies.received) + len(replies.unanswered) == 2000
            assert 1 <= len(replies.received) < 2000
            assert hub.metrics().sent < 2000


async def test_a_failure_is_not_a_reply() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register("bad", fail, topics="a")
            hub.register(gate, topics="a")

            async def open_gate() -> None:
                await gate.entered.wait()
                await until(lambda: hub.metrics().failed == 1)
                gate.opened.set()

            tasks.start_soon(open_gate)
            replies = await hub.request_many("a", Ping(), enough=1)
            assert list(replies.received) == ["gate"]
            assert list(replies.failures) == ["bad"]


async def test_those_who_are_late_are_named() -> None:
    clock, gate, full, recorder = VirtualClock(), Gate(), Gate("full"), Recorder()
    got: list[Replies[object]] = []

    async def ask() -> None:
        got.append(await hub.request_many("a", Ping(9), timeout=10))

    with fail_after(5):
        async with Hub(clock=clock, observer=recorder) as hub, create_task_group() as tasks:
            hub.register("fast", echo, topics="a")
            hub.register(gate, topics="a")
            hub.register(full, topics="a", mailbox=1)
            await hub.send("full", Ping(1))
            await full.entered.wait()
            await hub.send("full", Ping(2))
            tasks.start_soon(ask)
            await clock.advance(9)
            assert not got
            await clock.advance(1.1)
            await until(lambda: bool(got))
            assert gate.cancelled.is_set()
            assert got[0].received == {"fast": Pong(9)}
            assert sorted(got[0].unanswered) == ["full", "gate"]
            assert hub.metrics().refused == 1
            full.opened.set()
    assert full.seen == [1, 2]
    accounted_for(hub, recorder)


async def test_without_time_nobody_is_asked() -> None:
    async with Hub() as hub:
        hub.register("fast", echo, topics="a")
        replies = await hub.request_many("a", Ping(), timeout=0)
        assert (replies.unanswered, hub.metrics().accepted) == (("fast",), 0)


async def test_a_caller_that_is_cancelled_cancels_all_handlers() -> None:
    gates, recorder = [Gate(f"gate{number}") for number in range(3)], Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub, create_task_group() as tasks:
            for gate in gates:
                hub.register(gate, topics="a")
            tasks.start_soon(partial(hub.request_many, "a", Ping(), timeout=None))
            for gate in gates:
                await gate.entered.wait()
            tasks.cancel_scope.cancel()
            with CancelScope(shield=True):
                await idle(hub)
            assert all(gate.cancelled.is_set() for gate in gates)
    assert hub.metrics().waiting == ()
    accounted_for(hub, recorder)


async def test_an_agent_that_leaves_is_a_failure() -> None:
    gate = Gate()
    got: list[Replies[object]] = []

    async def ask() -> None:
        got.append(await hub.request_many("a", Ping()))

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, topics="a")
            tasks.start_soon(ask)
            await gate.entered.wait()
            await hub.unregister("gate", drain=False)
    assert isinstance(got[0].failures["gate"], AgentStopped)


async def test_the_end_of_the_hub_ends_it() -> None:
    gate = Gate()
    got: list[Replies[object]] = []

    async def ask() -> None:
        got.append(await hub.request_many("a", Ping(), timeout=None))

    with fail_after(5):
        async with create_task_group() as tasks, Hub(grace=0) as hub:
            hub.register(gate, topics="a")
            tasks.start_soon(ask)
            await gate.entered.wait()
    assert isinstance(got[0].failures["gate"], HubStopped)
    with pytest.raises(HubStopped):
        await hub.request_many("a", Ping())
    assert hub.metrics().refused == 1


async def test_an_agent_asks_all_but_itself_within_its_deadline() -> None:
    asked: list[Message[Ping]] = []

    async def note(message: Message[Ping], context: Context) -> int:
        asked.append(message)
        return 1

    async def chair(text: str, context: Context) -> Replies[int]:
        return await context.request_many("a", Ping(), expect=int, timeout=None)

    async def hub_chair(number: int, context: Context) -> Replies[int]:
        return await context.hub.request_many("a", Ping(), expect=int)

    with fail_after(5):
        async with Hub() as hub:
            for agent in ("one", "two"):
                hub.register(agent, note, topics="a")
            hub.register("chair", chair, topics="a")
            hub.register("other", hub_chair)
            replies = await hub.request("chair", "go", expect=Replies, timeout=20)
            assert dict(replies.received) == {"one": 1, "two": 1}
            assert [message.sender for message in asked] == ["chair", "chair"]
            assert all(message.chain == ("chair",) and message.deadline for message in asked)
            replies = await hub.request("other", 1, expect=Replies)
            assert isinstance(replies.failures["chair"], NoHandler)
            assert {message.chain for message in asked[2:]} == {("other",)}


async def test_a_circle_is_a_failure_at_once() -> None:
    async def ask(ping: Ping, context: Context) -> Replies[object]:
        return await context.request_many("b", ping)

    async def ask_back(ping: Ping, context: Context) -> Replies[object]:
        return await context.request_many("a", ping)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("one", ask, topics="a")
            hub.register("two", ask_back, topics="b")
            outer = await hub.request("one", Ping(), expect=Replies)
            assert isinstance(outer.received["two"].failures["one"], RequestCycle)


async def test_a_forwarded_request_is_answered_by_another() -> None:
    async def pass_on(ping: Ping, context: Context) -> None:
        await context.forward("end")

    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("relay", pass_on, topics="a")
            hub.register("end", echo)
            assert (await hub.request_many("a", Ping(4))).received == {"relay": Pong(4)}
            await hub.unregister("end")
            hub.register("end", gate)
            hub.register("fast", echo, topics="a")
            async with create_task_group() as tasks:
                tasks.start_soon(partial(hub.request_many, "a", Ping(5), timeout=None))
                await gate.entered.wait()
                tasks.cancel_scope.cancel()
            await gate.cancelled.wait()


async def test_it_passes_the_sending_layers_once() -> None:
    class Stamp:
        def __init__(self) -> None:
            self.seen: list[Outgoing] = []

        async def __call__(self, _: Context, proceed: Callable[[], Awaitable[Any]]) -> Any:
            return await proceed()

        async def sending(self, outgoing: Outgoing, send_on: SendOn) -> Any:
            self.seen.append(outgoing)
            return await send_on({**outgoing.headers, "stamp": "1"})

    stamp, probe = Stamp(), Probe("probe", replies=[1, 2])

    async def ask(text: str, context: Context) -> Replies[object]:
        return await context.request_many("a", Ping(), headers={"own": "2"})

    with fail_after(5):
        async with Hub(middleware=[stamp]) as hub:
            hub.register(probe, topics="a")
            hub.register("asker", ask)
            assert (await hub.request_many("a", Ping(), sender="me")).received == {"probe": 1}
            assert (await hub.request("asker", "go", expect=Replies)).received == {"probe": 2}
    assert [(one.topic, one.type, one.sender) for one in stamp.seen[::2]] == [
        ("a", MessageType.REQUEST, "me"),
        ("a", MessageType.REQUEST, "asker"),
    ]
    assert [message.headers for message in probe.messages] == [{"stamp": "1"}, {"own": "2", "stamp": "1"}]


async def test_a_thread_asks_through_a_portal() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("one", echo, topics="a")
            hub.register("two", echo, topics="a")
            portal = hub.portal()
            replies = await to_thread.run_sync(lambda: portal.request_many("a", Ping(3), expect=Pong))
            assert replies.received == {"one": Pong(3), "two": Pong(3)}


async def test_arguments_that_cannot_work_are_refused() -> None:
    hub = Hub()
    with pytest.raises(HubNotStarted):
        await hub.request_many("a", Ping())
    async with hub:
        with pytest.raises(InvalidTopic):
            await hub.request_many("a.*", Ping())
        for wrong in ({"enough": 0}, {"expect": 1}, {"timeout": -1}):
            with pytest.raises(InvalidArgument):
                await hub.request_many("a", Ping(), **wrong)  # type: ignore[call-overload]  # that is the point

        def call_by_hand() -> None:
            with pytest.raises(WrongThread):
                hub.request_many("a", Ping()).send(None)

        await to_thread.run_sync(call_by_hand)
        assert hub.metrics().sent == 0


async def test_a_loop_of_calls_lets_others_run() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await checkpoint()
            turns += 1

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            tasks.start_soon(count)
            await checkpoint()
            for _ in range(3000):
                await hub.request_many("a", Ping())
            tasks.cancel_scope.cancel()
    assert turns > 2


async def test_nothing_is_kept_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        with fail_after(5):
            async with Hub() as hub:
                hub.register("deaf", only_text, topics="a")
                hub.register("sleeper", sleep_for_ever, topics="a")
                hub.register("good", echo, topics="a")
                payload = Ping(1)
                kept = weakref.ref(payload)
                replies = await hub.request_many("a", payload, enough=1)
                await idle(hub)
                assert len(replies.received) == 1
                del payload, replies
                await hub.request_many("a", Ping(2), enough=1)
                await idle(hub)
                assert kept() is None
    finally:
        gc.enable()


async def sleep_for_ever(ping: Ping) -> None:
    await Flag().wait()


async def test_a_hook_may_ask_many() -> None:
    class Asks:
        id = "asks"
        got: Replies[object] | None = None

        async def on_start(self, hub: Hub) -> None:
            self.got = await hub.request_many("a", Ping(1))

        @handles
        async def take(self, _: Ping) -> None:
            return

    with fail_after(5):
        async with Hub() as hub:
            asks = Asks()
            hub.register(asks)
            hub.register("one", echo, topics="a")
            await hub.request("asks", Ping())
    assert asks.got is not None
    assert asks.got.received == {"one": Pong(1)}


async def ask_for_ever(hub: Hub) -> None:
    while True:
        await checkpoint()
        await hub.request_many("nobody", Ping())


async def test_a_hook_asks_while_the_hub_drains() -> None:
    gate, begun, go, asked, found = Gate(), Flag(), Flag(), Flag(), list[object]()

    class Starting:
        id = "starting"

        async def on_start(self) -> None:
            begun.set()
            await go.wait()
            found.append(dict((await hub.request_many("a", Ping(), expect=int)).received))
            asked.set()

        @handles
        async def take(self, ping: Ping) -> None:
            pass

    with fail_after(10):
        async with create_task_group() as group, Hub() as hub:
            hub.register(gate)
            hub.register(Starting())
            hub.register(Probe("first", replies=[1]), topics="a")
            await hub.send("gate", Ping())
            await hub.send("starting", Ping())
            await gate.entered.wait()  # what keeps the hub from being drained
            await begun.wait()
            group.start_soon(hub.drain)
            with pytest.raises(HubStopped):
                await ask_for_ever(hub)
            go.set()
            await asked.wait()
            gate.opened.set()
    assert found == [{"first": 1}]
