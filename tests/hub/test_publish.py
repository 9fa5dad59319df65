import math

import pytest
from anyio import CancelScope, create_task_group, fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Recorder, echo, until

from stagepost.hub import (
    AgentNotFound,
    Context,
    DeadReason,
    Delivery,
    Hub,
    HubNotStarted,
    HubStopped,
    InvalidTopic,
    Message,
    MessageType,
    Published,
)
from stagepost.hub._distribution import Distribution
from stagepost.hub._envelope import STANDARD
from stagepost.hub._origin import OUTSIDE
from stagepost.hub._publisher import wait_for_room
from stagepost.hub.testing import idle


class Notes:
    def __init__(self) -> None:
        self.seen: list[Message[Ping]] = []

    async def take(self, message: Message[Ping]) -> None:
        self.seen.append(message)

    @property
    def numbers(self) -> list[int]:
        return [message.data.number for message in self.seen]


async def test_subscribers_get_what_is_published_and_others_do_not() -> None:
    paid, everything, other = Notes(), Notes(), Notes()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("paid", paid.take, topics=["orders.*.paid"])
            hub.register("everything", everything.take, topics=["orders.>", "orders.*.paid"])
            hub.register("other", other.take, topics=["invoices.>"])
            delivery = await hub.publish("orders.42.paid", Ping(1), headers={"a": "b"})
            await hub.publish("orders.42", Ping(2))
            await idle(hub)
    assert set(delivery.delivered) == {"paid", "everything"}
    assert delivery.complete
    assert (paid.numbers, everything.numbers, other.numbers) == ([1], [1, 2], [])
    message = paid.seen[0]
    assert (message.topic, message.type, message.headers) == (
        "orders.42.paid",
        MessageType.NOTIFICATION,
        {"a": "b"},
    )
    assert everything.seen[0].trace == message.trace
    assert everything.seen[0].id != message.id


async def test_subscriptions_can_be_changed_at_run_time() -> None:
    notes = Notes()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("notes", notes.take)
            hub.subscribe("notes", "a.*")
            hub.subscribe("notes", "a.*")
            await hub.publish("a.b", Ping(1))
            hub.unsubscribe("notes", "a.*")
            hub.unsubscribe("notes", "a.*")
            assert await hub.publish("a.b", Ping(2)) == Delivery()
            with pytest.raises(AgentNotFound):
                hub.subscribe("nobody", "a")
            with pytest.raises(InvalidTopic):
                hub.subscribe("notes", "a..b")
    assert notes.numbers == [1]


async def test_unregistering_ends_subscriptions() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("notes", Notes().take, topics=["a"])
            await hub.unregister("notes")
            assert await hub.publish("a", Ping()) == Delivery()
            hub.register("notes", Notes().take)
            assert await hub.publish("a", Ping()) == Delivery()


async def test_the_sender_of_a_publication_does_not_get_it() -> None:
    delivered: list[Delivery] = []

    async def chat(ping: Ping, context: Context) -> None:
        if ping.number == 0:
            delivered.append(await context.publish("room", Ping(1)))
            delivered.append(await context.broadcast(Ping(2)))

    with fail_after(5):
        async with Hub() as hub:
            for name in ("a", "b", "c"):
                hub.register(name, chat, topics=["room"])
            await hub.send("a", Ping(0))
            await idle(hub)
            outside = await hub.publish("room", Ping(3), sender="b")
    assert [one.delivered for one in delivered] == [("b", "c"), ("b", "c")]
    assert outside.delivered == ("a", "c")


async def test_a_broadcast_reaches_everyone_with_a_handler() -> None:
    async def text(text: str) -> None: ...

    notes = Notes()
    with fail_after(5):
        async with Hub() as hub:
            hub.register("notes", notes.take)
            hub.register("text", text)
            assert (await hub.broadcast(Ping())).delivered == ("notes",)
            await idle(hub)
    assert notes.seen[0].type is MessageType.BROADCAST
    assert notes.seen[0].topic is None
    assert hub.metrics().dead == 0


async def test_a_subscriber_without_a_handler_is_a_dead_letter_in_the_report() -> None:
    async def text(text: str) -> None: ...

    with fail_after(5):
        async with Hub() as hub:
            hub.register("text", text, topics=["a"])
            delivery = await hub.publish("a", Ping(7))
    assert delivery == Delivery(not_handled=("text",))
    assert not delivery.complete
    (letter,) = hub.dead_letters
    assert (letter.reason, letter.message.data, letter.message.topic) == (DeadReason.UNHANDLED, Ping(7), "a")
    metrics = hub.metrics()
    assert (metrics.accepted, metrics.delivered, metrics.dead, metrics.in_flight) == (1, 0, 1, 0)


async def test_one_full_subscriber_holds_up_nobody_and_is_reported() -> None:
    gate, notes = Gate(), Notes()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=1, topics=["a"])
            hub.register("notes", notes.take, topics=["a"])
            reports = [await hub.publish("a", Ping(number)) for number in range(3)]
            assert [report.full for report in reports] == [(), (), ("gate",)]
            assert all("notes" in report.delivered for report in reports)
            assert [letter.reason for letter in hub.dead_letters] == [DeadReason.MAILBOX_FULL]
            gate.opened.set()
    assert notes.numbers == [0, 1, 2]
    assert gate.seen == [0, 1]


async def test_a_publication_waits_for_full_subscribers_if_it_is_told_to() -> None:
    gates = [Gate("one"), Gate("two"), Gate("three")]
    reports: list[Delivery] = []

    async def publish(hub: Hub, timeout: float) -> None:
        reports.append(await hub.publish("a", Ping(9), timeout=timeout))

    with fail_after(5):
        async with Hub(grace=0) as hub:
            for gate in gates:
                hub.register(gate, mailbox=1, topics=["a"])
            await hub.publish("a", Ping(0))
            await until(lambda: all(gate.seen for gate in gates))
            await hub.publish("a", Ping(1))
            await publish(hub, 0.02)
            async with create_task_group() as tasks:
                tasks.start_soon(publish, hub, 5)
                await until(lambda: hub.metrics().blocked == 3)
                gates[0].opened.set()
                await hub.unregister("two", drain=False)
                gates[2].opened.set()
    first, second = reports
    assert set(first.full) == {"one", "two", "three"}
    assert (set(second.delivered), second.stopped) == ({"one", "three"}, ("two",))
    reasons = [letter.reason for letter in hub.dead_letters]
    assert reasons.count(DeadReason.MAILBOX_FULL) == 3
    assert hub.metrics().in_flight == 0


async def test_a_cancelled_publisher_leaves_nobody_in_line() -> None:
    gate = Gate()
    scope = CancelScope()

    async def publish(hub: Hub) -> None:
        with scope:
            await hub.publish("a", Ping(9), timeout=None)

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1, topics=["a"])
            await hub.publish("a", Ping(0))
            await gate.entered.wait()
            await hub.publish("a", Ping(1))
            tasks.start_soon(publish, hub)
            await until(lambda: hub.metrics().blocked == 1)
            scope.cancel()
            await until(lambda: hub.metrics().blocked == 0)
            gate.opened.set()
    assert gate.seen == [0, 1]


async def test_a_full_subscriber_that_drops_gets_the_new_one() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=1, overflow="drop_oldest", topics=["a"])
            await hub.publish("a", Ping(0))
            await gate.entered.wait()
            assert (await hub.publish("a", Ping(1))).complete
            assert (await hub.publish("a", Ping(2))).complete
            gate.opened.set()
    assert gate.seen == [0, 2]
    assert [letter.reason for letter in hub.dead_letters] == [DeadReason.DROPPED]


async def test_a_thousand_publications_reach_the_healthy_while_one_is_stuck() -> None:
    gate, healthy = Gate(), {f"agent{number}": Notes() for number in range(5)}
    with fail_after(20):
        async with Hub(grace=0) as hub:
            hub.register(gate, topics=["a"])
            for name, notes in healthy.items():
                hub.register(name, notes.take, topics=["a"])
            for number in range(1000):
                await hub.publish("a", Ping(number))
            await until(lambda: all(len(notes.seen) == 1000 for notes in healthy.values()))
            metrics = hub.metrics()
    assert all(notes.numbers == list(range(1000)) for notes in healthy.values())
    assert metrics.depths == {"gate": 100}
    assert metrics.dead == 1000 - 101


async def test_subscribers_that_stop_while_a_publisher_yields_are_reported() -> None:
    gate = Gate()

    async def leave(hub: Hub) -> None:
        await hub.unregister("gate", drain=False)

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1, topics=["a"])
            await hub.publish("a", Ping(0))
            await gate.entered.wait()
            await hub.publish("a", Ping(1))
            tasks.start_soon(leave, hub)
            report = await hub.publish("a", Ping(2), timeout=1)
    assert report.stopped == ("gate",)


async def test_publications_are_told_with_counts() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register("echo", echo, topics=["a"])
            await hub.publish("a", Ping(), sender="me")
            await hub.publish("a", 1)
    told = [event for event in recorder.events if isinstance(event, Published)]
    assert [(event.topic, event.sender, event.delivered, event.lost) for event in told] == [
        ("a", "me", 1, 0),
        ("a", None, 0, 1),
    ]


async def test_publishing_needs_a_running_hub() -> None:
    hub = Hub()
    with pytest.raises(HubNotStarted):
        await hub.publish("a", Ping())
    with pytest.raises(HubNotStarted):
        await hub.broadcast(Ping())
    async with hub:
        await hub.drain()
        with pytest.raises(HubStopped):
            await hub.publish("a", Ping())
        with pytest.raises(HubStopped):
            await hub.broadcast(Ping())
        with pytest.raises(InvalidTopic):
            await hub.publish("a.*", Ping())


async def test_room_that_comes_just_in_time_is_taken() -> None:
    gate = Gate()
    reports: list[Delivery] = []

    async def publish(hub: Hub) -> None:
        reports.append(await hub.publish("a", Ping(9), timeout=5, ttl=60))

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            hub.register(gate, mailbox=1, topics=["a"])
            await hub.publish("a", Ping(0))
            await gate.entered.wait()
            await hub.publish("a", Ping(1))
            gate.opened.set()
            tasks.start_soon(publish, hub)
            tasks.start_soon(publish, hub)
    assert all(report.complete for report in reports)
    assert gate.seen == [0, 1, 9, 9]


async def test_a_publisher_that_never_waits_lets_others_run() -> None:
    turns = 0
    publishing = True

    async def watch() -> None:
        nonlocal turns
        while publishing:
            await checkpoint()
            turns += 1

    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            tasks.start_soon(watch)
            for number in range(50):
                hub.register(f"echo{number}", echo, topics=["a"], mailbox=None)
            for number in range(600):
                assert (await hub.publish("a", Ping(number))).complete
            publishing = False
    assert turns >= 4  # in some 8 ms of work; trio runs what is ready in random order


async def test_one_that_found_room_before_its_turn_to_wait_does_not_wait() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, mailbox=1, topics=["a"])
            await hub.publish("a", Ping(0))
            await gate.entered.wait()
            (endpoint,) = hub._directory.endpoints()
            assert hub._router is not None
            assert hub._engine is not None
            distribution = Distribution(hub._directory, hub._engine, Ping(1), OUTSIDE, STANDARD, math.inf)
            envelope, _ = hub._router._address("gate", Ping(1), MessageType.NOTIFICATION, OUTSIDE, STANDARD)
            await wait_for_room(distribution, endpoint, envelope, 5)
            gate.opened.set()
    assert distribution.report().delivered == ("gate",)
    assert gate.seen == [0, 1]


def test_a_delivery_says_whom_it_has_reached() -> None:
    assert Delivery().reached_nobody
    assert Delivery().complete
    assert str(Delivery()) == "reached nobody: nobody subscribes to this"
    assert str(Delivery(full=("a",), stopped=("b", "c"))) == "reached nobody: 1 had no room, 2 left"
    some = Delivery(delivered=("a", "b"), not_handled=("c",))
    assert not some.reached_nobody
    assert str(some) == "reached 2, 1 do not handle it"


async def test_a_publication_to_a_topic_that_nobody_has_says_so() -> None:
    async with Hub() as hub:
        assert (await hub.publish("a.b", Ping())).reached_nobody
