"""Events in words, as a log shows them."""

import logging
from typing import ClassVar

import pytest
from anyio import fail_after
from tests.hub._agents import Ping, echo, fail

import stagepost.hub
from stagepost._dataclasses import dataclass
from stagepost.hub import (
    AgentRegistered,
    Event,
    HandlerFailed,
    Hub,
    HubEvent,
    HubOpened,
    Level,
    LogObserver,
    MessageHandled,
    MessageType,
    Published,
    TaskCrashed,
)
from stagepost.hub._words import duration, short_id, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRead(Event):
    """An event of somebody else."""

    level: ClassVar[Level] = "warning"
    log_words: ClassVar[str] = "page {page:>3} was read in {seconds:ago}"
    log_names: ClassVar[tuple[str, ...]] = ("book", "shelf")

    page: int
    seconds: float
    book: str
    shelf: int


@pytest.mark.parametrize(
    ("given", "short"),
    [
        ("019ac7a21b3-8f2c11aa-000000001f", "8f2c-31"),
        ("019ac7a21b3-8f2c11aa-000000001f-reply", "8f2c-31-reply"),
        ("019ac7a21b3f-0a1b2c3d4e", "019a…2c3d4e"),
        ("order-42", "order-42"),
        ("", ""),
    ],
)
def test_ids_are_short_and_the_same_each_time(given: str, short: str) -> None:
    assert short_id(given) == short_id(given) == short


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 µs"), (87e-6, "87 µs"), (0.00321, "3.21 ms"), (1, "1 s"), (89.4, "1.49 min"), (7200, "2 h")],
)
def test_durations_have_a_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("event", "severity"),
    [
        (AgentRegistered(hub="main", agent="a"), 5),
        (HubOpened(hub="main"), 9),
        (PageRead(page=1, seconds=1, book="b", shelf=1), 13),
        (TaskCrashed(hub="main", agent="a", task="t", error="E"), 17),
    ],
)
def test_severities_are_those_of_open_telemetry(event: Event, severity: int) -> None:
    assert event.severity == severity


def test_each_event_of_a_hub_has_words_and_the_ids_it_belongs_to() -> None:
    kinds = [
        kind
        for name in stagepost.hub.__all__
        if isinstance(kind := getattr(stagepost.hub, name), type) and issubclass(kind, HubEvent)
    ]
    bases = {"HubEvent", "MessageEvent"}
    assert len(kinds) > 15
    for kind in kinds:
        assert bool(kind.log_words) == (kind.__name__ not in bases), kind
        assert "hub" in kind.log_names


def handled(**changes: object) -> MessageHandled:
    facts: dict[str, object] = {
        "hub": "main",
        "message_id": "019ac7a21b3-8f2c11aa-000000001f",
        "type": MessageType.REQUEST,
        "sender": None,
        "recipient": "billing",
        "payload": "Order",
        "trace": "t",
        "age": 0.25,
        **changes,
    }
    return MessageHandled(**facts)  # type: ignore[arg-type]  # as they are above


def test_words_leave_out_what_there_is_not() -> None:
    assert words_of(handled()) == "billing has handled Order after 250 ms"
    assert words_of(handled(sender="desk", topic="orders.1")) == (
        "billing has handled Order from desk on orders.1 after 250 ms"
    )
    published = Published(hub="main", topic=None, sender=None, delivered=2, lost=1)
    assert words_of(published) == "published: 2 got it, 1 did not"


def test_the_log_shows_words_and_short_ids(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "stagepost"):
        LogObserver().on_event(handled())
        LogObserver().on_event(PageRead(page=7, seconds=0.002, book="a-very-long-name-of-a-book", shelf=3))
    first, second = caplog.records
    assert first.getMessage() == "billing has handled Order after 250 ms hub=main message_id=8f2c-31 trace=t"
    assert (second.levelname, second.getMessage()) == ("WARNING", "page   7 was read in 2 ms book=a-ve…a-book shelf=3")


def test_a_log_for_programs_has_the_class_and_all_fields(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "stagepost"):
        LogObserver(fields=True).on_event(handled(sender="desk"))
    (record,) = caplog.records
    assert isinstance(record.msg, dict)
    assert record.msg["event"] == "MessageHandled"
    assert (record.msg["message_id"], record.msg["sender"]) == ("019ac7a21b3-8f2c11aa-000000001f", "desk")


async def test_a_hub_tells_what_happens_in_sentences(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "stagepost"), fail_after(10):
        async with Hub("main", observer=LogObserver()) as hub:
            hub.register("echo", echo, topics="pings", group="workers")
            hub.register("fails", fail)
            await hub.request("echo", Ping())
            with pytest.raises(HandlerFailed):
                await hub.request("fails", Ping(), sender="me")
    lines = [record.msg["event"] for record in caplog.records if record.name == "stagepost.events"]  # type: ignore[index]
    started = [line for line in lines if " after " not in line]
    assert started == [
        "hub opened",
        "echo was registered",
        "echo subscribed to pings in group workers",
        "fails was registered",
        "echo has Ping in its mailbox",
        "echo handles Ping",
        "fails has Ping from me in its mailbox",
        "fails handles Ping from me",
        "hub closed",
    ]
    assert any(line.startswith("fails failed on Ping from me after") for line in lines)
    assert all(line.endswith(": ZeroDivisionError") for line in lines if " failed on " in line)
