"""Recipients of a publication share one record, and nobody can tell."""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import anyio
import pytest
from anyio import create_task_group, fail_after, to_thread
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, Recorder, echo, fail, until

from stagepost.hub import (
    AgentEnded,
    Context,
    DeadReason,
    Event,
    HandlerFailed,
    Hub,
    Level,
    Message,
    MessageDead,
    MessageFailed,
    Priority,
    RequestCycle,
    WrongThread,
    handles,
)
from stagepost.hub._envelope import Envelope
from stagepost.hub.testing import idle

MANY = 70  # more than are served in one go


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Envelope]:
    """All envelopes that are made."""
    found: list[Envelope] = []
    make = Envelope.__init__

    def note(envelope: Envelope, *facts: object) -> None:
        make(envelope, *facts)  # type: ignore[arg-type]
        found.append(envelope)

    monkeypatch.setattr(Envelope, "__init__", note)
    return found


@dataclass
class Crowd:
    """Many agents that count what they get."""

    got: list[str] = field(default_factory=list)

    def join(self, hub: Hub, count: int = MANY) -> None:
        for number in range(count):
            hub.register(f"one-{number}", partial(self.take, f"one-{number}"), topics=["news"])

    async def take(self, agent: str, _ping: Ping) -> None:
        self.got.append(agent)


async def test_a_publication_to_many_makes_no_envelope(made: list[Envelope]) -> None:
    crowd = Crowd()
    with fail_after(5):
        async with Hub() as hub:
            crowd.join(hub)
            first, second = await hub.publish("news", Ping(1)), await hub.publish("news", Ping(2))
            await idle(hub)
            metrics = hub.metrics()
    assert len(first.delivered) == len(second.delivered) == MANY
    assert len(crowd.got) == 2 * MANY
    assert (metrics.sent, metrics.accepted, metrics.handled) == (2 * MANY, 2 * MANY, 2 * MANY)
    assert made == []


async def test_only_who_asks_for_more_than_the_payload_gets_one(made: list[Envelope]) -> None:
    seen: list[Message[Ping]] = []

    async def with_message(message: Message[Ping]) -> None:
        seen.append(message)

    async def with_context(ping: Ping, context: Context) -> None:
        seen.append(context.message)

    with fail_after(5):
        async with Hub() as hub:
            Crowd().join(hub)
            hub.register("message", with_message, topics=["news"])
            hub.register("context", with_context, topics=["news"])
            delivery = await hub.publish("news", Ping(1), headers={"a": "b"})
            await idle(hub)
    assert len(made) == 2
    assert sorted(message.recipient for message in seen) == ["context", "message"]
    assert {message.trace for message in seen} == {delivery.trace}
    assert len({message.id for message in seen}) == 2
    assert {(message.topic, dict(message.headers)["a"]) for message in seen} == {("news", "b")}


async def test_ids_of_all_deliveries_and_of_other_messages_are_distinct() -> None:
    seen: list[Message[Ping]] = []

    async def note(message: Message[Ping]) -> None:
        seen.append(message)

    with fail_after(5):
        async with Hub() as hub:
            for number in range(MANY):
                hub.register(f"note-{number}", note, topics=["news"])
                hub.register(f"plain-{number}", echo, topics=["news"])
            async with create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(hub.publish, "news", Ping(number))
                    tasks.start_soon(hub.send, "note-0", Ping(number))
            await idle(hub)
            sent = hub.metrics().sent
    assert len(seen) == len({message.id for message in seen}) == 5 * MANY + 5
    assert sent == 10 * MANY + 5


class Watcher:
    id = "watcher"
    context: Context

    def __init__(self) -> None:
        self.told: list[Message[AgentEnded]] = []

    @handles
    async def keep(self, _pong: Pong, context: Context) -> None:
        self.context = context

    @handles
    async def note(self, message: Message[AgentEnded]) -> None:
        self.told.append(message)

    def send(self) -> None:
        self.context.watch("nobody")  # sends at once, to the watcher

    def on_event(self, event: Event, /) -> None:
        if isinstance(event, MessageDead):
            self.send()

    def wants(self, level: Level, /) -> bool:
        return level == MessageDead.level


def the_payload(ping: Ping, watcher: Watcher) -> Ping:
    watcher.send()
    return ping


def no_key(ping: Ping, watcher: Watcher) -> Ping:
    watcher.send()
    raise LookupError(ping)


@pytest.mark.parametrize("key", [the_payload, no_key, None])
async def test_ids_are_distinct_if_other_peoples_code_sends_between_the_recipients(
    key: Callable[[Ping, Watcher], Ping] | None,
) -> None:
    seen: list[Message[Ping]] = []
    watcher = Watcher()

    async def note(message: Message[Ping]) -> None:
        seen.append(message)

    async def other(_pong: Pong) -> None: ...

    with fail_after(5):
        async with Hub(observer=watcher) as hub:
            hub.register(watcher)
            await hub.request("watcher", Pong(1))
            hub.register("before", note, topics=["news"])
            if key is None:
                hub.register("between", other, topics=["news"])  # it cannot handle it, which the observer is told
            else:
                hub.register("between", note, topics=["news"], per=lambda ping: key(ping, watcher))
            hub.register("after", note, topics=["news"])
            await hub.publish("news", Ping(1))
            await idle(hub)
            letters = hub.dead_letters
    ids = [message.id for message in (*seen, *watcher.told, *(letter.message for letter in letters))]
    assert len(seen) + len(letters) == 3
    assert watcher.told
    assert len({one.rpartition("-")[2] for one in ids}) == len(ids)  # their numbers; ids begin with the time
    assert len({message.trace for message in seen}) == 1


@dataclass
class Sends:
    """A handler without a context that sends, at once or in a task that outlives it."""

    hub: Hub
    at_once: bool
    beside: list[Callable[[], object]] = field(default_factory=list)
    go: anyio.Event = field(default_factory=anyio.Event)
    tasks: anyio.abc.TaskGroup | None = None

    async def take(self, _ping: Ping) -> None:
        if self.at_once:
            await self.hub.send("note", Pong(1))
        assert self.tasks is not None
        self.tasks.start_soon(self.later)

    async def later(self) -> None:
        await self.go.wait()
        await self.hub.send("note", Pong(2))


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_task_that_outlives_the_handler_keeps_its_message(*, at_once: bool) -> None:
    notes: list[Message[Pong]] = []

    async def note(message: Message[Pong]) -> None:
        notes.append(message)

    with fail_after(5):
        async with Hub() as hub, create_task_group() as tasks:
            crew = [Sends(hub, at_once, tasks=tasks) for _ in range(3)]
            hub.register("note", note)
            for number, one in enumerate(crew):
                hub.register(f"sends-{number}", one.take, topics=["news"])
            delivery = await hub.publish("news", Ping(1))
            await idle(hub)
            await hub.publish("news", Ping(2))  # the workers handle another one meanwhile
            await idle(hub)
            for one in crew:
                one.go.set()
            await until(lambda: len(notes) == (12 if at_once else 6))
    ours = [message for message in notes if message.trace == delivery.trace]
    causes = [message.cause for message in ours]
    assert len(set(causes)) == 3
    assert len(causes) == (6 if at_once else 3)
    assert all(message.chain == () for message in ours)


async def test_a_handler_that_asks_in_a_circle_is_told() -> None:
    errors: list[BaseException] = []

    async def back(pong: Pong) -> object:
        return await hub.request("plain", Pong(0))

    class Plain:
        id = "plain"

        @handles
        async def news(self, _ping: Ping) -> None:
            try:
                await hub.request("back", Pong(1))
            except HandlerFailed as error:
                errors.append(error.cause)

        @handles
        async def asked(self, pong: Pong) -> None: ...

    with fail_after(5):
        async with Hub() as hub:
            hub.register(Plain(), topics=["news"])
            hub.register("back", back)
            await hub.publish("news", Ping(1))
            await idle(hub)
    assert [type(error) for error in errors] == [RequestCycle]


async def test_a_call_from_a_thread_of_the_handler_belongs_to_its_message() -> None:
    notes: list[Message[Pong]] = []

    async def note(message: Message[Pong]) -> None:
        notes.append(message)

    async def in_thread(ping: Ping) -> None:
        await to_thread.run_sync(hub.portal().send, "note", Pong(1))

    with fail_after(5):
        async with Hub() as hub:
            hub.register("note", note)
            hub.register("in-thread", in_thread, topics=["news"])
            delivery = await hub.publish("news", Ping(1))
            await idle(hub)
    assert [message.trace for message in notes] == [delivery.trace]
    assert notes[0].cause is not None


async def test_a_hub_in_a_thread_of_the_handler_does_not_touch_its_message(made: list[Envelope]) -> None:
    notes: list[Message[Pong]] = []

    async def note(message: Message[Pong]) -> None:
        notes.append(message)

    async def inner() -> None:
        async with Hub("inner") as other:
            other.register("note", note, topics=["news"])
            other.register("plain", echo, topics=["news"])
            await other.send("note", Pong(1))
            await other.publish("news", Pong(2))
            await idle(other)

    async def outer(ping: Ping) -> None:
        await inner()
        await to_thread.run_sync(anyio.run, inner)

    with fail_after(5):
        async with Hub("outer") as hub:
            hub.register("outer", outer, topics=["news"])
            await hub.publish("news", Ping(1))
            await idle(hub)
    assert [message.cause for message in notes] == [None] * 4
    assert not [envelope for envelope in made if envelope.recipient.id == "outer"]


async def test_one_that_fails_is_told_of_like_any_other() -> None:
    recorder, failures = Failures(), Crowd()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            failures.join(hub)
            hub.register("bad", fail, topics=["news"])
            delivery = await hub.publish("news", Ping(1))
            await idle(hub)
            metrics = hub.metrics()
    assert len(failures.got) == MANY
    assert (metrics.failed, metrics.handled) == (1, MANY)
    (event,) = [event for event in recorder.events if isinstance(event, MessageFailed)]
    assert (event.recipient, event.trace, event.error) == ("bad", delivery.trace, "ZeroDivisionError")


@dataclass
class Failures(Recorder):
    """An observer that wants warnings only."""

    level: Level = "warning"

    def wants(self, level: Level, /) -> bool:
        return level in ("warning", "error") or level == self.level


async def test_an_observer_that_is_switched_on_meanwhile_sees_the_end() -> None:
    recorder, gate = Failures(), Gate()
    with fail_after(5):
        async with Hub(observer=recorder) as hub:
            hub.register(gate, topics=["news"])
            await hub.publish("news", Ping(1))
            await gate.entered.wait()
            recorder.level = "debug"
            hub.register("other", echo)
            await hub.request("other", Ping(2))  # its worker looks at the level
            gate.opened.set()
            await idle(hub)
    assert ("MessageHandled", "gate") in [(type(event).__name__, recipient(event)) for event in recorder.events]


def recipient(event: Event) -> object:
    return getattr(event, "recipient", None)


async def test_what_is_dropped_or_left_is_a_dead_letter_of_its_own() -> None:
    gates = [Gate(f"gate-{number}") for number in range(3)]
    with fail_after(5):
        async with Hub(grace=0.01) as hub:
            for gate in gates:
                hub.register(gate, topics=["news"], mailbox=2, overflow="drop_oldest")
            for number in range(4):  # one is handled, two are queued, the oldest of them is dropped for the last
                await hub.publish("news", Ping(number))
                if not number:
                    for gate in gates:
                        await gate.entered.wait()
            dropped = hub.dead_letters
            await hub.unregister("gate-0", drain=False)
            left = hub.dead_letters[len(dropped) :]
            for gate in gates:
                gate.opened.set()
            await idle(hub)
    assert [(letter.message.recipient, letter.message.data, letter.reason) for letter in dropped] == [
        (gate.id, Ping(1), DeadReason.DROPPED) for gate in gates
    ]
    assert [(letter.message.recipient, letter.message.data, letter.reason) for letter in left] == [
        ("gate-0", Ping(number), DeadReason.RECIPIENT_GONE) for number in (2, 3)
    ]
    ids = [letter.message.id for letter in (*dropped, *left)]
    assert len(set(ids)) == len(ids)
    assert [gate.seen for gate in gates[1:]] == [[0, 2, 3]] * 2


async def test_urgent_messages_overtake_queued_publications() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, topics=["news"])
            for number in range(3):
                await hub.publish("news", Ping(number))
            await gate.entered.wait()
            await hub.send("gate", Ping(9), priority=Priority.CRITICAL)
            await hub.publish("news", Ping(8), priority=Priority.LOW)
            await hub.publish("news", Ping(3))
            gate.opened.set()
            await idle(hub)
    assert gate.seen == [0, 9, 1, 2, 3, 8]


async def test_what_runs_and_waits_is_seen() -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, topics=["news"])
            hub.register("sends", echo)
            for number in range(3):
                await hub.publish("news", Ping(number), sender="sends")
            await gate.entered.wait()
            await anyio.sleep(0.01)
            (stuck,) = hub.stuck(longer_than=0.001)
            traffic = hub.traffic()
            gate.opened.set()
    assert (stuck.agent, stuck.sender, stuck.topic, stuck.handler, stuck.depth) == (
        "gate",
        "sends",
        "news",
        "tests.hub._agents.Gate.pass_through",
        2,
    )
    assert [(one.recipient, one.sender, one.topic, one.waiting, one.running) for one in traffic] == [
        ("gate", "sends", "news", 2, 1)
    ]


async def test_a_payload_that_changes_its_class_in_the_mailbox_goes_to_the_handler_that_was_chosen() -> None:
    class Turncoat:
        pass

    class Other:
        pass

    got: list[object] = []

    async def take(payload: Turncoat) -> None:
        got.append(payload)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("take", take, topics=["news"])
            payload = Turncoat()
            await hub.publish("news", payload)
            payload.__class__ = Other  # type: ignore[assignment]
            await idle(hub)
    assert got == [payload]


async def test_instances_of_a_keyed_agent_share_one_too(made: list[Envelope]) -> None:
    got: list[tuple[int, int]] = []

    class Counter:
        def __init__(self, key: int) -> None:
            self.key = key

        @handles
        async def take(self, ping: Ping) -> None:
            got.append((self.key, ping.number))

    with fail_after(5):
        async with Hub() as hub:
            hub.register("counter", Counter, per=lambda ping: ping.number % 2, topics=["news"])
            for number in range(4):
                await hub.publish("news", Ping(number))
            await idle(hub)
    assert sorted(got) == [(0, 0), (0, 2), (1, 1), (1, 3)]
    assert made == []


async def test_a_worker_that_rests_keeps_no_publication() -> None:
    import gc
    import weakref

    class Payload:
        pass

    async def take(payload: Payload) -> None:
        await checkpoint()

    async def asks(payload: Payload) -> None:
        await hub.send("take", Ping())

    with fail_after(5):
        async with Hub() as hub:
            hub.register("take", take, topics=["news"])
            hub.register("asks", asks, topics=["news"], supervision="resume")
            payload = Payload()
            await hub.publish("news", payload)
            await idle(hub)
            reference = weakref.ref(payload)
            del payload
            gc.collect()
            assert reference() is None


async def test_a_worker_that_has_only_expired_a_message_does_not_keep_it() -> None:
    import gc
    import weakref

    class Payload:
        pass

    async def take(payload: Payload) -> None: ...

    with fail_after(5):
        async with Hub(dead_letters=0) as hub:
            hub.register("take", take)
            await hub.send("take", Payload())
            await idle(hub)
            payload = Payload()
            await hub.send("take", payload, ttl=0)
            await idle(hub)
            reference = weakref.ref(payload)
            del payload
            gc.collect()
            assert reference() is None


@pytest.mark.parametrize("look", [Hub.traffic, Hub.metrics, Hub.describe])
async def test_looking_at_what_runs_makes_no_envelope(look: Callable[[Hub], object], made: list[Envelope]) -> None:
    gate = Gate()
    with fail_after(5):
        async with Hub() as hub:
            hub.register(gate, topics=["news"])
            await hub.publish("news", Ping(1))
            await gate.entered.wait()
            look(hub)
            gate.opened.set()
            await idle(hub)
    assert made == []


class Base(ABC):  # noqa: B024 - a hook is all that it has
    """A class that takes others for its subclasses only at times."""

    open = True

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        return Base.open


async def test_an_inherited_handler_is_the_one_that_it_was_when_published(made: list[Envelope]) -> None:
    got: list[object] = []

    async def take(payload: Base) -> None:
        got.append(payload)

    Base.open = True
    payloads = [type(f"Payload{number}", (), {})() for number in range(300)]  # more classes than an agent remembers
    with fail_after(5):
        async with Hub() as hub:
            hub.register("take", take, topics=["news"], mailbox=None)
            for payload in payloads:
                await hub.publish("news", payload)
            Base.open = False
            await idle(hub)
            assert hub.metrics().handled == len(payloads)
    assert got == payloads
    assert made == []


async def test_a_class_that_hashes_by_its_own_code_is_looked_up_once(made: list[Envelope]) -> None:
    class Moody(type):
        well = True

        def __hash__(cls) -> int:
            if not Moody.well:
                raise ZeroDivisionError
            return 1

    class Payload(metaclass=Moody):
        pass

    got: list[object] = []

    async def take(payload: Payload) -> None:
        got.append(payload)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("take", take, topics=["news"])
            payload = Payload()
            await hub.publish("news", payload)
            Moody.well = False
            await idle(hub)
            Moody.well = True
    assert got == [payload]
    assert len(made) == 1


async def test_another_thread_cannot_ask_what_is_stuck() -> None:
    with fail_after(5):
        async with Hub() as hub:
            with pytest.raises(WrongThread, match="stuck"):
                await to_thread.run_sync(partial(hub.stuck, longer_than=1))


async def test_what_no_member_of_a_group_can_take_is_lost_in_the_trace_of_its_publication() -> None:
    def no_key(ping: Ping) -> int:
        raise ZeroDivisionError

    with fail_after(5):
        async with Hub() as hub:
            hub.register("keyed", echo, per=no_key, topics=["news"], group="workers")
            hub.register("other", echo, topics=["news"])
            await hub.unregister("other")
            alone = await hub.publish("news", Ping(1))
            hub.register("alone", echo, topics=["news"])
            beside = await hub.publish("news", Ping(2))
            await idle(hub)
            letters = hub.dead_letters
            lost = [dict(hub.lost(delivery).recipients) for delivery in (alone, beside)]
    assert [delivery.not_handled for delivery in (alone, beside)] == [("keyed",)] * 2
    assert [letter.message.trace for letter in letters] == [alone.trace, beside.trace]
    assert lost == [{"keyed": 1}] * 2
