"""Queue groups: one member gets each publication."""

from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest
from anyio import Event, create_task_group, fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, fail, until

from stagepost.hub import (
    AgentNotFound,
    Context,
    DeadReason,
    Delivery,
    GroupDescription,
    Hub,
    InvalidArgument,
    InvalidName,
    InvalidTopic,
    Message,
    NoHandler,
    SubscriptionAdded,
    SubscriptionRemoved,
    handles,
)
from stagepost.hub import _groups as groups
from stagepost.hub.testing import VirtualClock, idle


class Worker:
    """Notes what it gets."""

    def __init__(self, hub: Hub, agent: str, *, group: str | None = "workers", topics: str = "jobs.>") -> None:
        self.seen: list[int] = []
        hub.register(agent, self.work, topics=topics, group=group)

    async def work(self, ping: Ping) -> Pong:
        self.seen.append(ping.number)
        return Pong(ping.number)


def gates(
    hub: Hub, *names: str, group: str | None = "workers", topics: str = "jobs.>", **options: object
) -> list[Gate]:
    """Members that work until they are told to end."""
    made = [Gate(name) for name in names]
    for gate in made:
        hub.register(gate, topics=topics, group=group, **options)  # type: ignore[arg-type]  # options of `register`
    return made


async def test_one_member_of_a_group_gets_each_publication_and_everybody_else_all() -> None:
    with fail_after(10):
        async with Hub() as hub:
            first, second = Worker(hub, "first"), Worker(hub, "second")
            alone, other = Worker(hub, "alone", group=None), Worker(hub, "other", group="others")
            for number in range(6):
                delivery = await hub.publish("jobs.new", Ping(number))
                assert len(delivery.delivered) == 3
                assert {"alone", "other"} < set(delivery.delivered)
                await idle(hub)
    assert (first.seen, second.seen) == ([0, 2, 4], [1, 3, 5])
    assert alone.seen == other.seen == [0, 1, 2, 3, 4, 5]


async def test_the_report_names_the_member_that_was_chosen() -> None:
    with fail_after(10):
        async with Hub() as hub:
            workers = {name: Worker(hub, name) for name in ("a", "b", "c")}
            reports = []
            for number in range(9):
                reports.append(await hub.publish("jobs.new", Ping(number)))
                await idle(hub)
    assert Counter(report.delivered for report in reports) == {("a",): 3, ("b",): 3, ("c",): 3}
    for number, report in enumerate(reports):
        assert number in workers[report.delivered[0]].seen


async def test_who_makes_a_message_wait_least_gets_it() -> None:
    with fail_after(10):
        async with Hub() as hub:
            slow, quick = gates(hub, "slow", "quick")
            assert (await hub.publish("jobs", Ping())) == Delivery()
            for _ in range(3):
                await hub.send("slow", Ping())
            await slow.entered.wait()
            assert (await hub.publish("jobs.1", Ping(1))).delivered == ("quick",)
            await quick.entered.wait()
            assert (await hub.publish("jobs.2", Ping(2))).delivered == ("quick",)
            assert (await hub.publish("jobs.3", Ping(3))).delivered == ("quick",)
            assert set(
                (await hub.publish("jobs.4", Ping(4))).delivered + (await hub.publish("jobs.5", Ping(5))).delivered
            ) == {
                "slow",
                "quick",
            }
            slow.opened.set()
            quick.opened.set()


async def test_a_busy_member_with_free_workers_is_as_good_as_an_idle_one() -> None:
    with fail_after(10):
        async with Hub() as hub:
            wide, endless, narrow = (
                *gates(hub, "wide", concurrency=3),
                *gates(hub, "endless", concurrency=None),
                *gates(hub, "narrow"),
            )
            chosen: Counter[str] = Counter()
            for number in range(9):
                chosen.update((await hub.publish("jobs.1", Ping(number))).delivered)
                await until(lambda: len([*wide.seen, *endless.seen, *narrow.seen]) == chosen.total())
            for gate in (wide, endless, narrow):
                gate.opened.set()
    assert chosen == {"wide": 3, "endless": 5, "narrow": 1}


async def test_a_member_without_room_is_passed_over_and_only_a_full_group_loses_messages() -> None:
    with fail_after(10):
        async with Hub() as hub:
            small, large = gates(hub, "small", mailbox=1), gates(hub, "large", mailbox=4)
            reports = [await hub.publish("jobs.1", Ping(number)) for number in range(8)]
            taken = Counter(name for report in reports for name in report.delivered)
            small[0].opened.set()
            large[0].opened.set()
    assert taken == {"small": 2, "large": 5}
    assert [report.full for report in reports] == [()] * 7 + [("workers",)]
    (letter,) = hub.dead_letters
    assert (letter.reason, letter.message.data) == (DeadReason.MAILBOX_FULL, Ping(7))
    assert letter.message.recipient in {"small", "large"}


async def test_a_full_group_drops_its_oldest_message_if_that_is_the_policy_of_the_one_chosen() -> None:
    with fail_after(10):
        async with Hub() as hub:
            (gate,) = gates(hub, "gate", mailbox=1, overflow="drop_oldest")
            for number in range(4):
                assert (await hub.publish("jobs.1", Ping(number))).delivered == ("gate",)
            gate.opened.set()
    assert gate.seen == [0, 3]


async def test_a_publication_may_wait_for_room_in_a_full_group() -> None:
    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            (gate,) = gates(hub, "gate", mailbox=1)
            for number in range(2):
                await hub.publish("jobs.1", Ping(number))
            reports: list[Delivery] = []

            async def publish() -> None:
                reports.append(await hub.publish("jobs.1", Ping(2), timeout=None))

            tasks.start_soon(publish)
            await until(lambda: hub.metrics().blocked == 1)
            gate.opened.set()
        assert gate.seen == [0, 1, 2]
    assert reports == [Delivery(delivered=("gate",))]


async def test_a_group_that_is_full_chooses_again_after_its_members_have_worked() -> None:
    done: list[int] = []

    async def work(ping: Ping) -> None:
        done.append(ping.number)

    with fail_after(10):
        async with Hub() as hub:
            (gate,) = gates(hub, "gate", mailbox=1)
            await hub.send("gate", Ping(-1))
            await gate.entered.wait()
            hub.register("quick", work, mailbox=2, topics="jobs.>", group="workers")
            await hub.send("gate", Ping(-2))
            await hub.send("quick", Ping(-1))
            await hub.send("quick", Ping(-2))
            assert (await hub.publish("jobs.1", Ping(3))).delivered == ("quick",)
            gate.opened.set()
    assert done == [-1, -2, 3]


async def test_the_sender_is_never_chosen_even_if_it_is_the_only_one_with_room() -> None:
    reports: list[Delivery] = []

    async def chat(ping: Ping, context: Context) -> None:
        reports.append(await context.publish("jobs.1", "text" if ping.number == 2 else Ping(9)))

    with fail_after(10):
        async with Hub() as hub:
            hub.register("chat", chat, topics="jobs.>", group="workers")
            await hub.send("chat", Ping(0))
            await idle(hub)
            (gate,) = gates(hub, "gate", mailbox=1)
            for number in range(3):
                await hub.send("chat", Ping(1))
                await until(lambda: len(reports) == number + 2)  # noqa: B023 - called before the next
            gate.opened.set()
    assert reports[0] == Delivery()
    assert reports[1:] == [Delivery(delivered=("gate",)), Delivery(delivered=("gate",)), Delivery(full=("workers",))]


async def test_an_agent_gets_a_publication_once_whatever_it_subscribes_to() -> None:
    with fail_after(10):
        async with Hub() as hub:
            both, member = Worker(hub, "both", group=None), Worker(hub, "member")
            hub.subscribe("both", "jobs.*", group="workers")
            hub.subscribe("member", "jobs.*", group="workers")
            hub.subscribe("both", "jobs.1", group="loners")
            for number in range(4):
                delivery = await hub.publish("jobs.1", Ping(number))
                assert sorted(delivery.delivered) == ["both", "member"]
                await idle(hub)
    assert both.seen == member.seen == [0, 1, 2, 3]


async def test_patterns_that_overlap_make_groups_of_their_own() -> None:
    with fail_after(10):
        async with Hub() as hub:
            Worker(hub, "all", topics="jobs.>")
            Worker(hub, "some", topics="jobs.*")
            assert sorted((await hub.publish("jobs.1", Ping())).delivered) == ["all", "some"]
            assert (await hub.publish("jobs.1.a", Ping())).delivered == ("all",)
            Worker(hub, "more", topics="jobs.1.>")
            assert sorted((await hub.publish("jobs.1.a", Ping())).delivered) == ["all", "more"]
            await hub.unregister("more")
            assert (await hub.publish("jobs.1.a", Ping())).delivered == ("all",)


async def test_the_last_member_ends_its_group() -> None:
    with fail_after(10):
        async with Hub() as hub:
            Worker(hub, "a")
            Worker(hub, "b")
            assert len((await hub.publish("jobs.1", Ping())).delivered) == 1
            hub.unsubscribe("a", "jobs.>")
            hub.unsubscribe("a", "jobs.>")
            assert (await hub.publish("jobs.1", Ping())).delivered == ("b",)
            assert hub.describe().groups == (GroupDescription(topic="jobs.>", name="workers", members=("b",)),)
            await hub.unregister("b")
            assert hub.describe().groups == ()
            assert (await hub.publish("jobs.1", Ping())) == Delivery()
            hub.subscribe("a", "jobs.>", group="workers")
            assert (await hub.publish("jobs.1", Ping())).delivered == ("a",)


async def test_to_subscribe_in_another_group_leaves_the_first() -> None:
    recorder = Recorder()
    with fail_after(10):
        async with Hub(observer=recorder) as hub:
            Worker(hub, "a")
            hub.subscribe("a", "jobs.>", group="workers")
            hub.subscribe("a", "jobs.>", group="others")
            assert [group.name for group in hub.describe().groups] == ["others"]
            hub.subscribe("a", "jobs.>")
            assert hub.describe().groups == ()
            hub.subscribe("a", "jobs.>", group="workers")
            assert (await hub.publish("jobs.1", Ping())).delivered == ("a",)
    changes = [
        (type(event), event.group)
        for event in recorder.events
        if isinstance(event, SubscriptionAdded | SubscriptionRemoved)
    ]
    added, removed = SubscriptionAdded, SubscriptionRemoved
    assert changes == [
        (added, "workers"),
        (removed, "workers"),
        (added, "others"),
        (removed, "others"),
        (added, None),
        (removed, None),
        (added, "workers"),
    ]


async def test_a_message_dies_with_its_member_and_is_not_delivered_again() -> None:
    with fail_after(10):
        async with Hub() as hub:
            first, second = gates(hub, "first", "second")
            for number in range(4):
                await hub.publish("jobs.1", Ping(number))
            await first.entered.wait()
            await second.entered.wait()
            await hub.unregister("first", drain=False)
            second.opened.set()
            await idle(hub)
    letters = [(letter.message.recipient, letter.message.data, letter.reason) for letter in hub.dead_letters]
    assert letters == [("first", Ping(2), DeadReason.RECIPIENT_GONE)]
    assert second.seen == [1, 3]


async def test_a_member_that_leaves_is_passed_over_at_once() -> None:
    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            first, second = gates(hub, "first", "second")
            await hub.publish("jobs.1", Ping())
            await first.entered.wait()
            tasks.start_soon(hub.unregister, "first")
            await until(lambda: "first" not in hub.agents)
            for _ in range(3):
                assert (await hub.publish("jobs.1", Ping())).delivered == ("second",)
            first.opened.set()
            second.opened.set()


@pytest.mark.parametrize("leaves", ["first", "second", "both"])
async def test_members_may_leave_while_a_publication_waits_for_room(leaves: str) -> None:
    reports: list[Delivery] = []
    names = ["first", "second"]
    going = names if leaves == "both" else [leaves]
    with fail_after(10):
        async with Hub() as hub, create_task_group() as tasks:
            members = gates(hub, *names, mailbox=1)
            for _ in range(4):
                await hub.publish("jobs.1", Ping())
            for gate in members:
                await gate.entered.wait()

            async def publish() -> None:
                reports.append(await hub.publish("jobs.1", Ping(7)))

            async def remove() -> None:
                for name in going:
                    await hub.unregister(name, drain=False)

            tasks.start_soon(publish)
            tasks.start_soon(remove)
            await until(lambda: bool(reports))
            for gate in members:
                gate.opened.set()
    (report,) = reports
    assert report in (Delivery(full=("workers",)), Delivery(stopped=("workers",)))
    assert hub.metrics().dead >= 1


async def test_a_payload_goes_to_a_member_that_handles_it() -> None:
    async def text(text: str) -> None: ...

    with fail_after(10):
        async with Hub() as hub:
            hub.register("text", text, topics="jobs.>", group="workers")
            Worker(hub, "pings")
            for _ in range(3):
                assert (await hub.publish("jobs.1", Ping())).delivered == ("pings",)
            assert (await hub.publish("jobs.1", "x")).delivered == ("text",)
            assert (await hub.publish("jobs.1", 1.5)).not_handled in {("text",), ("pings",)}


async def test_listeners_share_a_stream() -> None:
    with fail_after(10):
        async with Hub() as hub:
            async with AsyncExitStack() as stack:
                one, two = [
                    await stack.enter_async_context(hub.listen("jobs.>", group="readers", limit=2)) for _ in range(2)
                ]
                every = await stack.enter_async_context(hub.listen("jobs.>"))
                reports = [await hub.publish("jobs.1", Ping(number)) for number in range(5)]
                assert [(await anext(one)).data.number for _ in range(2)] == [0, 2]
                assert [(await anext(two)).data.number for _ in range(2)] == [1, 3]
                assert [(await anext(every)).data.number for _ in range(5)] == [0, 1, 2, 3, 4]
                assert hub.describe().groups == (
                    GroupDescription(topic="jobs.>", name="readers", members=("listener-1", "listener-2")),
                )
            assert hub.describe().groups == ()
    assert [report.full for report in reports] == [(), (), (), (), ("readers",)]


async def test_agents_and_listeners_may_share_a_group() -> None:
    with fail_after(10):
        async with Hub() as hub, hub.listen("jobs.>", group="workers") as stream:
            worker = Worker(hub, "worker")
            await hub.publish("jobs.1", Ping(1))
            await hub.publish("jobs.1", Ping(2))
            assert (await anext(stream)).data == Ping(1)
            await idle(hub)
            assert worker.seen == [2]
            replies = await hub.request_many("jobs.1", Ping(3))
            assert dict(replies.received) == {"worker": Pong(3)}


async def test_the_stream_of_a_listener_that_was_closed_is_passed_over() -> None:
    with fail_after(10):
        async with Hub() as hub, hub.listen("jobs.>", group="workers") as stream:
            stream.close()
            assert (await hub.publish("jobs.1", Ping())).delivered in {(), ("listener-1",)}
            worker = Worker(hub, "worker")
            assert (await hub.publish("jobs.1", Ping(1))).delivered == ("worker",)
            await idle(hub)
            assert worker.seen == [1]


async def test_one_member_of_each_group_is_asked() -> None:
    with fail_after(10):
        async with Hub() as hub:
            first, second = Worker(hub, "first"), Worker(hub, "second")
            Worker(hub, "alone", group=None)
            hub.register("failing", fail, topics="jobs.>", group="failures")
            hub.subscribe("alone", "jobs.*", group="workers-2")
            for number in range(4):
                replies = await hub.request_many("jobs.1", Ping(number), expect=Pong)
                assert len(replies.received) == 2
                assert "alone" in replies.received
                assert list(replies.failures) == ["failing"]
    assert (first.seen, second.seen) == ([0, 2], [1, 3])


async def test_a_member_does_not_ask_itself() -> None:
    asked: list[list[str]] = []

    async def ask(text: str, context: Context) -> None:
        asked.append(sorted((await context.request_many("jobs.1", Ping())).received))

    with fail_after(10):
        async with Hub() as hub:
            hub.register("asker", ask, topics="jobs.>", group="workers")
            await hub.send("asker", "")
            await idle(hub)
            Worker(hub, "worker")
            await hub.send("asker", "")
            await idle(hub)
    assert asked == [[], ["worker"]]


async def test_who_asks_a_group_that_does_not_handle_it_is_told() -> None:
    with fail_after(10):
        async with Hub() as hub:
            Worker(hub, "worker")
            replies = await hub.request_many("jobs.1", "text")
    assert isinstance(replies.failures["worker"], NoHandler)


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "a.b", 7])
async def test_the_name_of_a_group_is_checked(name: str) -> None:
    async with Hub() as hub:
        with pytest.raises(InvalidName, match="group"):
            hub.register("a", echo, topics="jobs", group=name)
        hub.register("a", echo)
        with pytest.raises(InvalidName, match="group"):
            hub.subscribe("a", "jobs", group=name)
        with pytest.raises(InvalidName, match="group"):
            async with hub.listen("jobs", group=name):
                pass
        assert hub.describe().agents[0].topics == ()
        assert hub.describe().listeners == ()


async def test_a_group_needs_a_topic_that_exists() -> None:
    async with Hub() as hub:
        with pytest.raises(InvalidArgument, match="topics"):
            hub.register("a", echo, group="workers")
        assert hub.agents == ()
        with pytest.raises(InvalidTopic):
            hub.register("a", echo, topics="a..b", group="workers")
        with pytest.raises(AgentNotFound):
            hub.subscribe("a", "jobs", group="workers")
        assert hub.describe().groups == ()


async def test_the_drawing_shows_groups_between_topics_and_members() -> None:
    async with Hub() as hub, hub.listen("jobs.>", group="workers"):
        hub.register("a", echo, topics=["jobs.>", "news"], group="workers")
        hub.register("b", echo, topics="jobs.>")
        assert hub.describe().mermaid().splitlines() == [
            "flowchart LR",
            '    t0{{"jobs.&gt;"}}',
            '    t1{{"news"}}',
            '    g0(("one of<br/>workers"))',
            '    g1(("one of<br/>workers"))',
            '    a0["a<br/>Ping"]',
            '    a1["b<br/>Ping"]',
            '    l0(["listener-1"])',
            "    t0 --> g0",
            "    t1 --> g1",
            "    g0 --> a0",
            "    g1 --> a0",
            "    t0 --> a1",
            "    g0 --> l0",
        ]


async def test_a_publication_to_very_many_groups_lets_others_run_and_reaches_each_once() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await checkpoint()

    with fail_after(30):
        async with Hub() as hub, create_task_group() as tasks:
            for number in range(2000):
                hub.register(f"a-{number}", echo, topics="jobs.>", group=f"group-{number // 2}")
            hub.register("alone", echo, topics="jobs.>")
            tasks.start_soon(count)
            await checkpoint()
            before = turns
            delivery = await hub.publish("jobs.1", Ping())
            assert turns > before
            tasks.cancel_scope.cancel()
    assert len(delivery.delivered) == 1001
    assert len({int(name[2:]) // 2 for name in delivery.delivered if name != "alone"}) == 1000


async def test_a_group_of_very_many_members_that_are_all_full_reports_it_once() -> None:
    with fail_after(60):
        async with Hub() as hub:
            members = gates(hub, *[f"gate-{number}" for number in range(100)], mailbox=1)
            for number in range(200):
                assert len((await hub.publish("jobs.1", Ping(number))).delivered) == 1
            assert (await hub.publish("jobs.1", Ping())).full == ("workers",)
            for gate in members:
                gate.opened.set()
    assert hub.metrics().handled == 200


async def test_the_hub_may_stop_while_many_groups_are_served() -> None:
    reports: list[Delivery] = []
    with fail_after(30):
        async with create_task_group() as tasks, Hub(grace=0) as hub:
            for number in range(2000):
                hub.register(f"a-{number}", echo, topics="jobs.>", group=f"group-{number}")

            async def publish() -> None:
                reports.append(await hub.publish("jobs.1", Ping()))

            tasks.start_soon(publish)
            await until(lambda: hub.metrics().accepted > 0)
    (report,) = reports
    assert len(report.delivered) + len(report.stopped) == 2000
    metrics = hub.metrics()
    assert metrics.accepted == 2000
    assert metrics.in_flight == 0


async def test_messages_of_a_group_keep_their_order_for_each_member() -> None:
    seen: dict[str, list[int]] = {"a": [], "b": [], "c": []}

    def member(name: str) -> Callable[[Message[Ping]], object]:
        async def take(message: Message[Ping]) -> None:
            await checkpoint()
            seen[name].append(message.data.number)

        return take

    with fail_after(10):
        async with Hub() as hub:
            for name in seen:
                hub.register(name, member(name), topics="jobs.>", group="workers")
            for number in range(60):
                assert (await hub.publish("jobs.1", Ping(number))).complete
    assert all(numbers == sorted(numbers) for numbers in seen.values())
    assert sorted(number for numbers in seen.values() for number in numbers) == list(range(60))


async def test_of_very_many_busy_members_some_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "_COMPARED", 3)
    with fail_after(20):
        async with Hub() as hub:
            members = gates(hub, *[f"gate-{number}" for number in range(6)], mailbox=3)
            for _ in range(4):
                await hub.broadcast(Ping())
            chosen = [(await hub.publish("jobs.1", Ping())).full for _ in range(2)]
            assert chosen == [("workers",)] * 2  # all of them were asked
            members[5].opened.set()
            await until(lambda: hub.metrics().agents["gate-5"].depth == 0)
            assert (await hub.publish("jobs.1", Ping())).delivered == ("gate-5",)
            for gate in members:
                gate.opened.set()


async def test_a_member_that_is_about_to_leave_is_passed_over() -> None:
    """Between closing an agent and ending its subscriptions nobody else runs; here it is closed alone."""
    with fail_after(10):
        async with Hub() as hub:
            first, second = gates(hub, "first", "second")
            await hub.publish("jobs.1", Ping())
            await first.entered.wait()
            registration = hub._directory.member("first")
            assert registration.endpoint is not None
            assert registration.standing().room is groups.Room.FREE
            registration.endpoint.workers.closing = True
            assert registration.standing().room is groups.Room.CLOSING
            for _ in range(2):
                assert (await hub.publish("jobs.1", Ping())).delivered == ("second",)
            registration.endpoint.workers.closing = False
            first.opened.set()
            second.opened.set()


async def test_a_keyed_member_gets_what_a_full_group_has_for_its_key() -> None:
    seen: list[tuple[int, int]] = []

    class PerKey:
        def __init__(self, key: int) -> None:
            self.key = key

        @handles
        async def take(self, ping: Ping) -> None:
            seen.append((self.key, ping.number))

    with fail_after(10):
        async with Hub() as hub:
            (gate,) = gates(hub, "gate", mailbox=1)
            for _ in range(2):
                await hub.send("gate", Ping())
                await gate.entered.wait()

            async def register() -> None:
                hub.register("keyed", PerKey, per=lambda ping: ping.number, topics="jobs.>", group="workers")

            async with create_task_group() as tasks:
                tasks.start_soon(register)
                delivery = await hub.publish("jobs.1", Ping(7), timeout=None)
            assert delivery.delivered == ("keyed",)
            await until(lambda: seen == [(7, 7)])
            gate.opened.set()


def no_key(_: Ping) -> int:
    raise ZeroDivisionError("no key")


async def test_a_member_that_has_no_key_for_a_payload_leaves_it_to_another() -> None:
    seen: list[str] = []

    async def keyed(_: Ping) -> None: ...

    async def plain(_: Ping) -> None:
        seen.append("plain")

    async def other(_: str) -> None: ...

    async with Hub() as hub:
        hub.register("first", keyed, per=no_key, topics="jobs.>", group="workers")
        hub.register("second", keyed, per=no_key, topics="jobs.>", group="workers")
        hub.register("other", other, topics="jobs.>", group="workers")
        for _ in range(3):  # if nobody can, the first one is named
            delivery = await hub.publish("jobs.1", Ping())
            assert (delivery.delivered, len(delivery.not_handled)) == ((), 1)
            assert delivery.not_handled[0] in ("first", "second")
        hub.register("plain", plain, topics="jobs.>", group="workers")
        for _ in range(3):
            assert (await hub.publish("jobs.1", Ping())).delivered == ("plain",)
        await until(lambda: len(seen) == 3)
        assert len(hub.dead_letters) == 3
    assert seen == ["plain"] * 3


async def test_a_member_that_has_too_many_instances_leaves_it_to_another() -> None:
    with fail_after(10):
        async with Hub() as hub:
            entered, opened = Event(), Event()

            class PerKey:
                def __init__(self, key: int) -> None:
                    self.key = key

                @handles
                async def take(self, _: Ping) -> None:
                    entered.set()
                    await opened.wait()

            hub.register("keyed", PerKey, per=lambda ping: ping.number, instances=1, topics="jobs.>", group="workers")
            assert (await hub.publish("jobs.1", Ping(1))).delivered == ("keyed",)
            await entered.wait()
            assert (await hub.publish("jobs.1", Ping(2))).full == ("keyed",)
            (gate,) = gates(hub, "gate")
            gate.opened.set()
            for number in range(2, 5):
                assert (await hub.publish("jobs.1", Ping(number))).delivered == ("gate",)
            opened.set()


async def test_a_full_group_asks_another_member_than_one_that_has_no_instance_for_the_payload() -> None:
    async def take(ping: Ping) -> None: ...

    with fail_after(10):
        async with Hub() as hub:
            (gate,) = gates(hub, "gate", mailbox=1)
            for _ in range(2):
                await hub.send("gate", Ping())
                await gate.entered.wait()

            async def register() -> None:
                hub.register("keyed", take, per=no_key, topics="jobs.>", group="workers")

            async with create_task_group() as tasks:
                tasks.start_soon(register)
                delivery = await hub.publish("jobs.1", Ping(7))
            assert delivery == Delivery(full=("workers",))
            gate.opened.set()


async def test_members_that_do_not_handle_it_do_not_take_the_place_of_a_full_one() -> None:
    async def text(text: str) -> None: ...

    with fail_after(10):
        async with Hub() as hub:
            (gate,) = gates(hub, "gate", mailbox=1)
            hub.register("text", text, topics="jobs.>", group="workers")
            for _ in range(2):
                assert (await hub.publish("jobs.1", Ping())).delivered == ("gate",)
                await gate.entered.wait()
            assert (await hub.publish("jobs.1", Ping())).full == ("workers",)
            gate.opened.set()


async def test_a_full_member_that_leaves_leaves_the_message_to_another_full_one() -> None:
    clock, reports = VirtualClock(), list[Delivery]()
    with fail_after(10):
        async with Hub(clock=clock, grace=0) as hub, create_task_group() as tasks:
            first, second = gates(hub, "first", "second", mailbox=1)
            for number in range(4):
                await hub.publish("jobs.1", Ping(number))
            await first.entered.wait()
            await second.entered.wait()
            for name in ("first", "second"):
                registration = hub._directory.member(name)
                assert registration.standing().room is groups.Room.FULL

            async def publish() -> None:
                reports.append(await hub.publish("jobs.1", Ping(9)))

            async def close() -> None:
                await until(lambda: hub.metrics().sent == 5)
                assert hub._directory.groups is not None
                (group,) = hub._directory.groups
                chosen = next(reversed(group.members))
                hub._directory.member(chosen.id).endpoint.workers.closing = True  # type: ignore[union-attr]  # it has one

            tasks.start_soon(publish)
            tasks.start_soon(close)
            await until(lambda: bool(reports))
            for gate in (first, second):
                hub._directory.member(gate.id).endpoint.workers.closing = False  # type: ignore[union-attr]  # it has one
                gate.opened.set()
    assert reports == [Delivery(full=("workers",))]
