import logging
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, ClassVar

import pytest
from anyio import fail_after
from tests.hub._agents import Ping, Recorder, echo, fail

from stagepost.hub import (
    AgentRegistered,
    Emitter,
    Event,
    Hub,
    InvalidArgument,
    Level,
    LogObserver,
    MessageFailed,
    MultiObserver,
    NullObserver,
    Observer,
    Queued,
    get_logger,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened(Event):
    level: ClassVar[Level] = "warning"

    what: str


class Broken:
    def on_event(self, _: Event, /) -> None:
        raise RuntimeError("broken observer")


def test_events_are_frozen_and_know_when_they_happened() -> None:
    event = Happened(what="it")
    assert event.at > 1_700_000_000
    with pytest.raises(FrozenInstanceError):
        event.what = "other"  # type: ignore[misc]  # the point of the test


def test_without_an_observer_nothing_is_enabled() -> None:
    for emitter in (Emitter(), Emitter(NullObserver())):
        assert not emitter.enabled
        emitter.emit(Happened(what="unseen"))
    assert NullObserver().on_event(Happened(what="unseen")) is None  # type: ignore[func-returns-value]  # the point


def test_an_emitter_hands_events_on() -> None:
    recorder = Recorder()
    emitter = Emitter(recorder)
    emitter.emit(Happened(what="it"))
    assert emitter.enabled
    assert recorder.names == ["Happened"]


def test_a_broken_observer_is_contained_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    emitter = Emitter(Broken())
    with caplog.at_level(logging.WARNING, "stagepost"):
        for _ in range(3):
            emitter.emit(Happened(what="it"))
    assert emitter.failures == 3
    assert len(caplog.records) == 1
    assert "broken observer" in caplog.text


def test_an_observer_may_not_hold_back_an_interrupt() -> None:
    class Interrupting:
        def on_event(self, _: Event, /) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Emitter(Interrupting()).emit(Happened(what="it"))


def test_one_broken_observer_does_not_hide_events_from_the_others() -> None:
    recorder = Recorder()
    both = MultiObserver(Broken(), recorder)
    Emitter(both).emit(Happened(what="it"))
    assert recorder.names == ["Happened"]
    assert both.failures == 1


def test_events_are_logged_with_their_fields_at_their_level(caplog: pytest.LogCaptureFixture) -> None:
    observer = LogObserver()
    with caplog.at_level(logging.INFO, "stagepost"):
        observer.on_event(Happened(what="it"))
        observer.on_event(AgentRegistered(hub="main", agent="a"))
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("stagepost.events", "WARNING")
    assert isinstance(record.msg, dict)
    assert record.msg["event"] == "Happened"
    assert record.msg["what"] == "it"


def test_a_logger_of_choice_gets_the_events(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "stagepost"):
        LogObserver(get_logger("elsewhere")).on_event(Happened(what="it"))
        get_logger().info("directly")
    assert [record.name for record in caplog.records] == ["stagepost.elsewhere", "stagepost"]


async def test_a_hub_tells_the_story_of_each_message() -> None:
    recorder = Recorder()
    with fail_after(5):
        async with Hub("main", observer=recorder) as hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping(1))
            hub.register("fail", fail)
            await hub.send("fail", Ping(2), sender="me")
            hub.register("unused", echo)
            await hub.unregister("unused")
    assert recorder.names == [
        "HubOpened",
        "AgentRegistered",
        "MessageAccepted",
        "MessageStarted",
        "MessageHandled",
        "AgentRegistered",
        "MessageAccepted",
        "AgentRegistered",
        "AgentUnregistered",
        "MessageStarted",
        "MessageFailed",
        "HubClosed",
    ]
    failed = recorder.events[-2]
    assert isinstance(failed, MessageFailed)
    assert (failed.hub, failed.sender, failed.recipient) == ("main", "me", "fail")
    assert (failed.payload, failed.error) == ("Ping", "ZeroDivisionError")
    assert failed.trace == failed.message_id
    assert failed.age >= 0


async def test_a_broken_observer_does_not_disturb_a_hub() -> None:
    with fail_after(5):
        async with Hub(observer=Broken()) as hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping(1))
            assert hub.metrics().observer_failures == 5


class Leaky:
    def on_event(self, _: Event, /) -> None:
        raise RuntimeError("hunter2")


@pytest.mark.parametrize(
    "make",
    [
        lambda broken: MultiObserver(Recorder(), broken),
        lambda broken: MultiObserver(MultiObserver(broken), NullObserver()),
        Queued,
        lambda broken: MultiObserver(Queued(broken)),
    ],
    ids=["several", "several in several", "queued", "queued in several"],
)
async def test_a_failing_observer_is_counted_and_logged_once_wherever_it_hangs(
    make: Callable[[Observer], Any], caplog: pytest.LogCaptureFixture
) -> None:
    observer = make(Leaky())
    with fail_after(5), caplog.at_level(logging.WARNING, "stagepost"):
        hub = Hub(observer=observer)
        with hub.masking(lambda text: text.replace("hunter2", "***")):
            async with hub:
                hub.register("echo", echo)
                await hub.request("echo", Ping(1))
            for emitter in observer.emitters:
                if isinstance(inner := emitter._observer, Queued):
                    inner.close()
            if isinstance(observer, Queued):
                observer.close()
    assert hub.metrics().observer_failures == 6
    (record,) = caplog.records
    assert record.name == "stagepost.observer"
    assert record.getMessage().endswith("RuntimeError: ***")


class Asynchronous:
    async def on_event(self, _: Event, /) -> None: ...


@pytest.mark.parametrize(
    ("observer", "text"),
    [
        (Recorder, "use an instance of the class"),
        (object(), "use an object with a method `on_event"),
        (print, "use an object with a method `on_event"),
        (Asynchronous(), "its `on_event` is async, which nobody awaits"),
    ],
    ids=["class", "object", "function", "async"],
)
def test_what_cannot_observe_is_refused(observer: Any, text: str) -> None:
    for make in (Emitter, MultiObserver, Queued, lambda it: Hub(observer=it)):
        with pytest.raises(InvalidArgument, match=text):
            make(observer)


def test_the_limit_of_a_queue_of_events_is_checked() -> None:
    with pytest.raises(InvalidArgument, match="limit is 0: use a number from 1 up"):
        Queued(Recorder(), limit=0)
