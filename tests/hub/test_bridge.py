"""Bridges between hubs."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from anyio import CancelScope, create_task_group, fail_after, sleep_forever
from anyio import Event as Flag
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, Relay, echo, error_of, fail, until

from stagepost.hub import (
    AgentNotFound,
    AgentStopped,
    Bridge,
    Context,
    DeadReason,
    Delivery,
    DeliveryError,
    DuplicateAgent,
    HandlerFailed,
    Hub,
    HubStopped,
    InvalidArgument,
    InvalidName,
    InvalidTopic,
    MailboxFull,
    Message,
    MessageFailed,
    NoHandler,
    Priority,
    Published,
    RequestCycle,
    RequestTimeout,
)
from stagepost.hub import _relays as relays
from stagepost.hub.testing import VirtualClock, idle


class Ear:
    """Hears what is published on a hub."""

    def __init__(self, hub: Hub, topics: str = ">", **options: object) -> None:
        self.heard: list[Message[Ping]] = []
        hub.register("ear", self.hear, topics=topics, **options)  # type: ignore[arg-type]  # options of `register`

    async def hear(self, message: Message[Ping]) -> None:
        self.heard.append(message)

    @property
    def numbers(self) -> list[int]:
        return [message.data.number for message in self.heard]


async def quiet(*hubs: Hub) -> None:
    """Until nothing is in progress on any hub, nor brought to it meanwhile."""
    with fail_after(20):
        while any(hub.metrics().in_flight for hub in hubs):
            for hub in hubs:
                await idle(hub)


@asynccontextmanager
async def hubs(*names: str) -> AsyncIterator[list[Hub]]:
    with fail_after(30):
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(Hub(name)) for name in names]


async def test_publications_go_both_ways_by_default() -> None:
    async with hubs("a", "b") as (a, b):
        Bridge(a, b, topics=["orders.>"])
        there, here = Ear(b), Ear(a)
        await a.publish("orders.1", Ping(1))
        await b.publish("orders.2", Ping(2))
        await a.publish("news", Ping(3))
        await quiet(a, b)
    assert sorted(there.numbers) == [1, 2]
    assert sorted(here.numbers) == [1, 2, 3]


async def test_publications_may_go_one_way() -> None:
    async with hubs("a", "b") as (a, b):
        Bridge(a, b, topics="orders.>", both_ways=False)
        there, here = Ear(b), Ear(a)
        await a.publish("orders.1", Ping(1))
        await b.publish("orders.2", Ping(2))
        await quiet(a, b)
        assert "bridge" not in b.agents
    assert sorted(there.numbers) == [1, 2]
    assert here.numbers == [1]


async def test_what_is_carried_keeps_its_terms() -> None:
    clock = VirtualClock()
    with fail_after(10):
        async with Hub("a", clock=clock) as a, Hub("b", clock=clock) as b:
            Bridge(a, b, topics="orders.>", id="way")
            near, far = Ear(a), Ear(b)
            await a.publish("orders.1", Ping(), headers={"tenant": "7"}, priority=Priority.HIGH, ttl=60, trace="t")
            await a.publish("orders.2", Ping())
            await quiet(a, b)
    for here, there in zip(near.heard, far.heard, strict=True):
        assert (there.topic, there.trace, there.type) == (here.topic, here.trace, here.type)
        assert (there.sender, here.sender) == ("way", None)
        assert there.cause is not None
    first, second = far.heard
    assert (first.headers["tenant"], first.priority, first.trace) == ("7", Priority.HIGH, "t")
    assert first.deadline == pytest.approx(near.heard[0].deadline)
    assert second.deadline is None


@pytest.mark.parametrize("size", [2, 3, 5])
async def test_each_hub_of_a_circle_gets_a_publication_once(size: int) -> None:
    async with hubs(*(f"hub-{number}" for number in range(size))) as circle:
        ears = [Ear(hub) for hub in circle]
        for number in range(size):
            Bridge(circle[number], circle[(number + 1) % size], topics=">", id=f"bridge-{number}")
        for number in range(3):
            await circle[number % size].publish("news", Ping(number))
        await quiet(*circle)
    assert [sorted(ear.numbers) for ear in ears] == [[0, 1, 2]] * size


async def test_two_bridges_between_two_hubs_deliver_once() -> None:
    async with hubs("a", "b") as (a, b):
        ear = Ear(b)
        for name in ("one", "two"):
            Bridge(a, b, topics=">", id=name)
        for number in range(20):
            await a.publish("news", Ping(number))
        await quiet(a, b)
    assert ear.numbers == list(range(20))


async def test_hubs_remember_a_bounded_number_of_publications(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relays, "_REMEMBERED", 3)
    async with hubs("a", "b") as (a, b):
        ear = Ear(b)
        Bridge(a, b, topics=">")
        for number in range(10):
            await a.publish("news", Ping(number))
        await quiet(a, b)
        assert a.relays().is_new("m-1")
        assert not a.relays().is_new("m-1")
        for number in range(3):
            assert a.relays().is_new(f"n-{number}")
        assert a.relays().is_new("m-1")
    assert ear.numbers == list(range(10))


async def test_a_publication_passes_at_most_eight_bridges() -> None:
    async with hubs(*(f"hub-{number}" for number in range(10))) as line:
        ears = [Ear(hub) for hub in line]
        for number in range(9):
            Bridge(line[number], line[number + 1], topics=">", id=f"bridge-{number}")
        await line[0].publish("news", Ping())
        await quiet(*line)
        assert [len(ear.heard) for ear in ears] == [1] * 9 + [0]
        (letter,) = line[8].dead_letters
    assert (letter.reason, letter.message.recipient) == (DeadReason.TOO_MANY_HOPS, "bridge-8")
    assert line[8].metrics().dead == 1


async def test_the_bridge_reports_who_got_it() -> None:
    async with hubs("a", "b") as (a, b):
        bridge = Bridge(a, b, topics=">", both_ways=False)
        gate = Gate()
        b.register(gate, topics="jobs", mailbox=1)
        for number in range(3):
            await a.publish("jobs", Ping(number))
            await quiet(a)
        gate.opened.set()
    assert [report.delivery for report in bridge.deliveries] == [
        Delivery(delivered=("gate",)),
        Delivery(delivered=("gate",)),
        Delivery(full=("gate",)),
    ]
    report = bridge.deliveries[-1]
    assert (report.topic, report.source, report.target) == ("jobs", "a", "b")
    assert (a.dead_letters, [letter.reason for letter in b.dead_letters]) == ((), [DeadReason.MAILBOX_FULL])


async def test_a_publisher_that_waits_for_room_does_not_wait_for_the_bridge() -> None:
    async with hubs("a", "b") as (a, b):
        gate = Flag()

        async def hold(ping: Ping) -> None:
            await gate.wait()

        b.register("held", hold, topics=">", mailbox=1)
        a.register("slow", echo)
        bridge = Bridge(a, b, topics=">", mailbox=1)
        reports = []
        for number in range(4):
            reports.append(await a.publish("news", Ping(number), timeout=None))
            await checkpoint()
        gate.set()
        await quiet(a, b)
    names = [name for report in reports for name in (*report.delivered, *report.full)]
    assert names == ["bridge"] * 4
    assert len(bridge.deliveries) + sum(len(report.full) for report in reports) == 4


async def test_the_bridge_ends_with_the_hub_that_stops_first() -> None:
    with fail_after(20):
        async with Hub("a") as a:
            ear = Ear(a)
            async with Hub("b") as b:
                b.register("cashier", echo)
                bridge = Bridge(a, b, topics=">", map=["cashier@b"])
                assert a.agents == ("ear", "bridge", "bridge-requests", "cashier")
                await a.publish("news", Ping(1))
                assert await a.request("cashier", Ping(5)) == Pong(5)
            await until(lambda: a.agents == ("ear",))
            assert (await a.publish("news", Ping(2))).delivered == ("ear",)
            with pytest.raises((AgentNotFound, AgentStopped)):
                await a.request("cashier", Ping())
            await bridge.close()
            await quiet(a)
    assert ear.numbers == [1, 2]


async def test_a_bridge_that_nobody_used_ends_at_once() -> None:
    with fail_after(20):
        async with Hub("a") as a:
            async with Hub("b") as b:
                Bridge(a, b, topics=">", map=["cashier@b"])
            assert a.agents == ()


async def test_what_was_not_carried_is_a_dead_letter_where_it_came_from() -> None:
    with fail_after(20):
        async with Hub("a") as a:
            async with Hub("b") as b:
                bridge = Bridge(a, b, topics=">")
                await b.drain()
                await until(lambda: "bridge" not in a.agents)
                c = Hub("c")
                other = Bridge(a, c, topics=">", id="other")
                await a.publish("news", Ping(7))
                await quiet(a)
            (letter,) = a.dead_letters
            assert (letter.message.recipient, letter.message.data, letter.reason) == (
                "other",
                Ping(7),
                DeadReason.HUB_STOPPED,
            )
            assert [report.delivery for report in other.deliveries] == [Delivery(stopped=("c",))]
            assert bridge.deliveries == ()
            metrics = a.metrics()
            assert (metrics.accepted, metrics.dead, metrics.failed, metrics.in_flight) == (1, 1, 0, 0)


async def test_publications_that_wait_in_the_bridge_when_the_other_hub_stops_are_dead_letters() -> None:
    with fail_after(20):
        async with Hub("a") as a, Hub("b") as b:
            Bridge(a, b, topics=">")
            await a.publish("news", Ping(0))
            await quiet(a, b)
            for number in range(5):
                await a.publish("news", Ping(number))
            async with create_task_group() as tasks:
                tasks.start_soon(b.drain, 0)
            await quiet(a)
            metrics = a.metrics()
    assert metrics.handled + metrics.dead == 6
    assert {letter.reason for letter in a.dead_letters} <= {DeadReason.HUB_STOPPED, DeadReason.RECIPIENT_GONE}


async def test_hubs_may_be_joined_before_they_are_entered() -> None:
    a, b = Hub("a"), Hub("b")
    Bridge(a, b, topics=">", map={"till": "cashier@b"})
    ear = Ear(b)
    b.register("cashier", echo)
    with fail_after(20):
        async with a, b:
            await a.publish("news", Ping(3))
            assert await a.request("till", Ping(4), expect=Pong) == Pong(4)
            await quiet(a, b)
    assert ear.numbers == [3]


async def test_a_broadcast_and_a_question_to_many_stay_on_their_hub() -> None:
    async with hubs("a", "b") as (a, b):
        Bridge(a, b, topics=">", map=["cashier@b"])
        b.register("cashier", echo)
        ear = Ear(b)
        a.register("local", echo, topics=">")
        assert (await a.broadcast(Ping())).delivered == ("local",)
        assert dict((await a.request_many("news", Ping(2))).received) == {"local": Pong(2)}
        await a.send("bridge", Ping(9))
        await quiet(a, b)
    assert ear.heard == []


async def test_sends_reach_the_other_hub_in_order() -> None:
    async with hubs("a", "b") as (a, b):
        seen: list[Message[Ping]] = []

        async def take(message: Message[Ping]) -> None:
            seen.append(message)

        b.register("desk", take)
        Bridge(a, b, map=["desk@b"])
        for number in range(50):
            await a.send("desk", Ping(number), trace="t", headers={"n": str(number)}, priority=Priority.HIGH)
        await quiet(a, b)
    assert [message.data.number for message in seen] == list(range(50))
    assert (seen[3].headers["n"], seen[3].trace, seen[3].priority, seen[3].sender) == (
        "3",
        "t",
        Priority.HIGH,
        "bridge",
    )


async def test_only_those_who_send_to_a_slow_agent_of_the_other_hub_wait() -> None:
    async with hubs("a", "b") as (a, b):
        gate = Gate("slow")
        b.register(gate, mailbox=1)
        b.register("quick", echo)
        Bridge(a, b, map=["slow@b", "quick@b"])
        with CancelScope() as scope:
            async with create_task_group() as tasks:
                for number in range(150):
                    tasks.start_soon(a.send, "slow", Ping(number))
                await until(lambda: a.metrics().blocked > 10)
                assert await a.request("quick", Ping(1)) == Pong(1)
                scope.cancel()
        gate.opened.set()
        await quiet(a, b)
    assert 100 < len(gate.seen) < 150


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda _: None, DeadReason.RECIPIENT_GONE),
        (lambda hub: hub.register("desk", _text), DeadReason.UNHANDLED),
        (lambda hub: hub.register("desk", echo, per=lambda ping: ping.account), DeadReason.UNHANDLED),
    ],
    ids=["nobody", "no handler", "no key"],
)
async def test_a_send_that_the_other_hub_refuses_is_a_dead_letter(
    prepare: Callable[[Hub], None], reason: DeadReason
) -> None:
    async with hubs("a", "b") as (a, b):
        prepare(b)
        Bridge(a, b, map=["desk@b"])
        await a.send("desk", Ping(1))
        await quiet(a, b)
        (letter,) = a.dead_letters
        assert (letter.reason, letter.message.data, letter.message.recipient) == (reason, Ping(1), "desk")
        assert a.metrics().failed == 0


async def _text(text: str) -> None: ...


async def test_a_send_that_finds_no_room_in_time_is_a_dead_letter() -> None:
    clock = VirtualClock()
    gate = Gate("desk")
    with fail_after(20):
        async with Hub("a", clock=clock) as a, Hub("b", clock=clock) as b:
            b.register(gate, mailbox=1)
            Bridge(a, b, map=["desk@b"])
            for number in range(3):
                await a.send("desk", Ping(number))
            await gate.entered.wait()
            await until(lambda: b.metrics().blocked == 1)
            await clock.advance(31)
            await quiet(a)
            (letter,) = a.dead_letters
            gate.opened.set()
    assert (letter.reason, letter.message.data) == (DeadReason.MAILBOX_FULL, Ping(2))


async def test_a_message_expires_on_the_other_hub() -> None:
    clock = VirtualClock()
    gate = Gate("desk")
    with fail_after(20):
        async with Hub("a", clock=clock) as a, Hub("b", clock=clock) as b:
            b.register(gate)
            Bridge(a, b, map=["desk@b"])
            await a.send("desk", Ping(0))
            await gate.entered.wait()
            await a.send("desk", Ping(1), ttl=5)
            await quiet(a)
            await clock.advance(6)
            gate.opened.set()
            await quiet(a, b)
            assert [letter.reason for letter in b.dead_letters] == [DeadReason.EXPIRED]
    assert gate.seen == [0]


async def test_a_request_keeps_trace_cause_headers_and_deadline() -> None:
    seen: list[Message[Ping]] = []

    async def answer(message: Message[Ping]) -> Pong:
        seen.append(message)
        return Pong(message.data.number)

    clock = VirtualClock()
    with fail_after(20):
        async with Hub("a", clock=clock) as a, Hub("b", clock=clock) as b:
            b.register("cashier", answer)
            Bridge(a, b, map={"till": "cashier@b"})
            reply = await a.request("till", Ping(3), timeout=60, trace="t-1", headers={"tenant": "7"}, expect=Pong)
            assert await a.request("till", Ping(4), timeout=None, expect=Pong) == Pong(4)
            now = b.place().stamps.wall(clock.now())
    assert reply == Pong(3)
    (first, second) = seen
    assert (first.trace, first.headers["tenant"], first.sender) == ("t-1", "7", "bridge")
    assert first.cause is not None
    assert first.deadline == pytest.approx(now + 60, abs=1)
    assert second.deadline is None


async def test_the_error_of_the_other_hub_reaches_the_requester_at_once_and_as_it_is() -> None:
    recorder = Recorder()
    with fail_after(20):
        async with Hub("a", observer=recorder) as a, Hub("b") as b:
            b.register("failing", fail)
            b.register("text", _text)
            b.register("full", echo, mailbox=1, overflow="reject", concurrency=1)
            gate = Gate()
            b.register(gate, mailbox=1, overflow="reject")
            Bridge(a, b, map=["failing@b", "text@b", "nobody@b", "gate@b"])
            with pytest.raises(HandlerFailed) as failed:
                await a.request("failing", Ping(), timeout=None)
            assert (failed.value.recipient, type(failed.value.cause)) == ("failing", ZeroDivisionError)
            with pytest.raises(NoHandler):
                await a.request("text", Ping(), timeout=None)
            with pytest.raises(AgentNotFound):
                await a.request("nobody", Ping(), timeout=None)
            for number in range(2):
                await b.send("gate", Ping(number))
                await gate.entered.wait()
            with pytest.raises(MailboxFull):
                await a.request("gate", Ping(), timeout=None)
            gate.opened.set()
            await quiet(a, b)
            metrics = a.metrics()
    assert (metrics.failed, metrics.late_replies) == (4, 0)
    errors = [event.error for event in recorder.events if isinstance(event, MessageFailed)]
    assert errors == ["HandlerFailed", "NoHandler", "AgentNotFound", "MailboxFull"]


async def test_a_failure_is_logged_once_by_the_hub_on_which_it_happened(caplog: pytest.LogCaptureFixture) -> None:
    async with hubs("a", "b") as (a, b):
        b.register("failing", fail)
        Bridge(a, b, map=["failing@b"])
        with pytest.raises(HandlerFailed):
            await a.request("failing", Ping())
        await quiet(a, b)
    (record,) = [record for record in caplog.records if record.name == "stagepost.hub"]
    assert "'b'" in str(record.msg) or "hub=b" in record.getMessage()


async def test_a_requester_that_gives_up_cancels_the_handler_on_the_other_hub() -> None:
    clock = VirtualClock()
    gates = [Gate(f"gate-{number}") for number in range(2)]
    errors: list[RequestTimeout] = []
    with fail_after(20):
        async with Hub("a", clock=clock) as a, Hub("b", clock=clock) as b:
            for gate in gates:
                b.register(gate)
            Bridge(a, b, map=["gate-0@b", "gate-1@b"])
            async with create_task_group() as tasks:
                tasks.start_soon(a.request, "gate-0", Ping())
                await gates[0].entered.wait()
                tasks.cancel_scope.cancel()
            await gates[0].cancelled.wait()

            async def ask() -> None:
                try:
                    await a.request("gate-1", Ping(), timeout=5)
                except RequestTimeout as error:
                    errors.append(error)

            async with create_task_group() as tasks:
                tasks.start_soon(ask)
                await gates[1].entered.wait()
                await clock.advance(6)
            await gates[1].cancelled.wait()
            await quiet(a, b)
    assert len(errors) == 1


async def test_a_circle_over_two_hubs_is_found() -> None:
    async with hubs("a", "b") as (a, b):
        a.register(Relay("planner", "cashier"))
        b.register(Relay("cashier", "planner"))
        Bridge(a, b, map=["cashier@b", "planner@a"])
        with pytest.raises(HandlerFailed) as caught:
            await a.request("planner", Ping(), timeout=None)
        await quiet(a, b)
    error: BaseException = caught.value
    while isinstance(error, HandlerFailed):
        error = error.cause
    assert isinstance(error, RequestCycle)
    assert error.recipient == "planner"
    assert "cashier@b" in str(error)


async def test_a_circle_over_three_hubs_is_found() -> None:
    async with hubs("a", "b", "c") as (a, b, c):
        for hub, agent, target in ((a, "one", "two"), (b, "two", "three"), (c, "three", "one")):
            hub.register(Relay(agent, target))
        Bridge(a, b, map=["two@b"])
        Bridge(b, c, map=["three@c"])
        Bridge(c, a, map=["one@a"], id="back")
        with pytest.raises(HandlerFailed) as caught:
            await a.request("one", Ping(), timeout=None)
        await quiet(a, b, c)
    error: BaseException = caught.value
    while isinstance(error, HandlerFailed):
        error = error.cause
    assert isinstance(error, RequestCycle)


async def test_agents_of_one_name_on_two_hubs_make_no_circle() -> None:
    async with hubs("a", "b") as (a, b):
        a.register(Relay("clerk", "far-clerk"))
        b.register(Relay("clerk", "echo"))
        b.register("echo", echo)
        Bridge(a, b, map={"far-clerk": "clerk@b"})
        assert await a.request("clerk", Ping(6), timeout=None) == Pong(6)


@pytest.mark.parametrize("stops", ["a", "b"])
async def test_a_requester_is_answered_when_either_hub_stops(stops: str) -> None:
    gate = Gate()
    errors: list[HubStopped | AgentStopped] = []
    with fail_after(20):
        async with create_task_group() as tasks, Hub("a", grace=0) as a, Hub("b", grace=0) as b:
            b.register(gate)
            Bridge(a, b, map=["gate@b"])

            async def ask() -> None:
                try:
                    await a.request("gate", Ping(), timeout=None)
                except (HubStopped, AgentStopped) as error:
                    errors.append(error)

            tasks.start_soon(ask)
            await gate.entered.wait()
            await (a if stops == "a" else b).drain(timeout=0)
            await until(lambda: bool(errors))
    assert len(errors) == 1


async def test_a_request_that_runs_when_the_other_hub_begins_to_drain_gets_its_reply() -> None:
    gate = Gate()
    replies: list[object] = []
    with fail_after(20):
        async with Hub("a") as a, create_task_group() as tasks, Hub("b") as b:
            b.register(gate)
            Bridge(a, b, map=["gate@b"])

            async def ask() -> None:
                replies.append(await a.request("gate", Ping(8), timeout=None))

            tasks.start_soon(ask)
            await gate.entered.wait()
            async with create_task_group() as drains:
                drains.start_soon(b.drain)
                await until(lambda: "gate" not in a.agents)
                gate.opened.set()
    assert replies == [Pong(8)]


async def test_the_other_direction_of_a_request_is_mapped_too() -> None:
    async with hubs("a", "b") as (a, b):
        a.register("left", echo)
        b.register("right", echo)
        Bridge(a, b, map=["left@a", "right@b"])
        assert await a.request("right", Ping(1)) == Pong(1)
        assert await b.request("left", Ping(2)) == Pong(2)


async def test_a_closed_bridge_carries_nothing_and_can_be_made_again() -> None:
    async with hubs("a", "b") as (a, b):
        ear = Ear(b)
        b.register("cashier", echo)
        for number in range(3):
            bridge = Bridge(a, b, topics=">", map=["cashier@b"])
            await a.publish("news", Ping(number))
            assert await a.request("cashier", Ping(number)) == Pong(number)
            await a.unregister("cashier")
            await bridge.close()
            await bridge.close()
            assert a.agents == ()
            assert sorted(b.agents) == ["cashier", "ear"]
            assert (await a.publish("news", Ping(9))) == Delivery()
        assert a.relays().endings == {}
    assert ear.numbers == [0, 1, 2]


async def test_agents_of_a_bridge_show_in_the_description() -> None:
    async with hubs("a", "b") as (a, b):
        Bridge(a, b, topics="orders.>", map=["cashier@b"])
        described = {agent.id: agent.topics for agent in a.describe().agents}
    assert described == {"bridge": ("orders.>",), "bridge-requests": (), "cashier": ()}


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda a, _: Bridge(a, Hub("a")), InvalidArgument, "told apart by name"),
        (lambda a, b: Bridge(a, b, id="a b"), InvalidName, "agent id"),
        (lambda a, b: Bridge(a, b, topics="a..b"), InvalidTopic, "a..b"),
        (lambda a, b: Bridge(a, b, topics=7), InvalidArgument, "topics"),  # type: ignore[arg-type]  # what is refused
        (lambda a, b: Bridge(a, b, map="cashier@b"), InvalidArgument, "list of addresses"),
        (lambda a, b: Bridge(a, b, map=7), InvalidArgument, "list of addresses"),  # type: ignore[arg-type]  # what is refused
        (lambda a, b: Bridge(a, b, map=["cashier"]), InvalidArgument, '"cashier@a" or "cashier@b"'),
        (lambda a, b: Bridge(a, b, map=[7]), InvalidArgument, '"agent@a"'),  # type: ignore[list-item]  # what is refused
        (lambda a, b: Bridge(a, b, map=["cashier@c"]), InvalidArgument, '"cashier@b"'),
        (lambda a, b: Bridge(a, b, map=["@b"]), InvalidName, "agent id"),
        (lambda a, b: Bridge(a, b, map={"a b": "x@b"}), InvalidName, "agent id"),
        (lambda a, b: Bridge(a, b, topics=">", both_ways=1), InvalidArgument, "both_ways"),  # type: ignore[arg-type]  # what is refused
        (lambda a, b: Bridge(a, b, topics=">", mailbox=0), InvalidArgument, "mailbox"),
        (lambda a, b: Bridge(a, b, topics=">", map=["taken@b"]), DuplicateAgent, "taken"),
        (lambda a, b: Bridge(a, b, topics=">", id="taken"), DuplicateAgent, "taken"),
    ],
)
async def test_arguments_that_cannot_work_are_refused_and_leave_nothing(
    make: Callable[[Hub, Hub], object], error: type[Exception], match: str
) -> None:
    async with hubs("a", "b") as (a, b):
        a.register("taken", echo)
        with pytest.raises(error, match=match):
            make(a, b)
        assert (a.agents, b.agents) == (("taken",), ())
        assert a.relays().endings == b.relays().endings == {}


async def test_observers_of_the_other_hub_see_the_publication() -> None:
    recorder = Recorder()
    with fail_after(20):
        async with Hub("a") as a, Hub("b", observer=recorder) as b:
            Bridge(a, b, topics=">")
            Ear(b)
            await a.publish("news", Ping())
            await quiet(a, b)
    (event,) = [event for event in recorder.events if isinstance(event, Published)]
    assert (event.topic, event.sender, event.delivered, event.cause is not None) == ("news", "bridge", 1, True)


async def test_layers_around_what_is_sent_meet_what_is_carried() -> None:
    class Stamp:
        async def __call__(self, _: Context, proceed: Callable[[], Awaitable[object]]) -> object:
            return await proceed()

        async def sending(self, outgoing: object, send_on: Callable[[dict[str, str]], Awaitable[object]]) -> object:
            return await send_on({**outgoing.headers, "stamp": "b"})  # type: ignore[attr-defined]  # an Outgoing

    with fail_after(20):
        async with Hub("a") as a, Hub("b", middleware=[Stamp()]) as b:
            ear = Ear(b)
            b.register("echo", echo)
            Bridge(a, b, topics=">", map=["echo@b"])
            await a.publish("news", Ping())
            assert await a.request("echo", Ping(2)) == Pong(2)
            await quiet(a, b)
    assert ear.heard[0].headers["stamp"] == "b"


async def test_a_handler_that_is_stuck_on_one_hub_does_not_keep_the_other_from_ending() -> None:
    stuck = Flag()

    async def hang(ping: Ping) -> None:
        stuck.set()
        await sleep_forever()

    with fail_after(20):
        async with create_task_group() as tasks:
            async with Hub("a", grace=0) as a, Hub("b", grace=0) as b:
                b.register("hang", hang)
                Bridge(a, b, map=["hang@b"])

                async def ask() -> None:
                    with pytest.raises((HubStopped, AgentStopped, HandlerFailed)):
                        await a.request("hang", Ping(), timeout=None)

                tasks.start_soon(ask)
                await stuck.wait()
            assert a.metrics().in_flight == b.metrics().in_flight == 0


async def test_an_agent_of_the_bridge_that_was_removed_before_does_not_matter_when_it_ends() -> None:
    with fail_after(20):
        async with Hub("a") as a:
            async with Hub("b") as b:
                Bridge(a, b, topics=">", map=["cashier@b"])
                await a.unregister("cashier")
            assert a.agents == ()


async def test_a_hub_that_stopped_keeps_what_is_left_of_its_bridges() -> None:
    with fail_after(20):
        async with Hub("a") as a, Hub("b") as b:
            b.register("cashier", echo)
            bridge = Bridge(a, b, map=["cashier@b"])
            assert await a.request("cashier", Ping(1)) == Pong(1)
            await a.drain()
            await b.drain()
            await bridge.close()


async def test_a_publication_that_came_over_a_bridge_is_resent_over_the_next_one() -> None:
    with fail_after(20):
        async with Hub("a") as a, Hub("b") as b:
            c = Hub("c")
            ear = Ear(c)
            Bridge(a, b, topics=">")
            Bridge(b, c, topics=">", id="onward")
            await a.publish("news", Ping(7))
            await quiet(a, b)
            (letter,) = b.dead_letters
            assert (letter.message.recipient, letter.reason) == ("onward", DeadReason.HUB_STOPPED)
            async with c:
                await b.resend(letter)
                await quiet(b, c)
    assert ear.numbers == [7]


async def test_agents_of_a_bridge_that_others_remove_while_it_ends_end_once() -> None:
    async with hubs("a", "b") as (a, b):
        b.register("cashier", echo)
        Bridge(a, b, topics=">", map=["cashier@b"])
        assert await a.request("cashier", Ping(1)) == Pong(1)
        b.relays().end()
        await a.unregister("cashier")
        a.register("cashier", echo)
        await until(lambda: a.agents == ("cashier",))
        await quiet(a, b)
        assert await a.request("cashier", Ping(2)) == Pong(2)


async def test_closing_a_bridge_ends_it_even_if_that_is_cancelled() -> None:
    gate, errors = Gate(), list[DeliveryError]()
    async with hubs("a", "b") as (a, b), create_task_group() as tasks:
        b.register(gate)
        b.register("cashier", echo)
        bridge = Bridge(a, b, topics=">", map=["gate@b", "cashier@b"])
        tasks.start_soon(error_of, DeliveryError, lambda: a.request("gate", Ping(1), timeout=None), errors)
        await gate.entered.wait()
        with CancelScope() as scope:
            async with create_task_group() as closing:
                closing.start_soon(bridge.close)
                await until(lambda: "bridge-requests" not in a.agents)
                scope.cancel()
        await until(lambda: a.agents == () and b.agents == ("gate", "cashier") and bool(errors))
        assert [type(error) for error in errors] == [AgentStopped]


async def test_closing_a_bridge_carries_the_requests_that_wait_in_it() -> None:
    gate = Gate()
    async with hubs("a", "b") as (a, b), create_task_group() as tasks:
        b.register(gate, mailbox=1)
        bridge = Bridge(a, b, map=["gate@b"])
        for number in range(3):  # one is handled, one waits, and one waits in the bridge for room
            await a.send("gate", Ping(number))
        replies = list[object]()

        async def ask() -> None:
            replies.append(await a.request("gate", Ping(3), timeout=None))

        tasks.start_soon(ask)
        await until(lambda: a.metrics().agents["gate"].depth == 1)
        tasks.start_soon(bridge.close)
        await until(lambda: "gate" not in a.agents)
        gate.opened.set()
        await until(lambda: bool(replies))
        assert replies == [Pong(3)]
