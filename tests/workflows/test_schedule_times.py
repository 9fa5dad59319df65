"""The times that schedules name, and what is done about those that have come."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.checkpoint import StoredSchedule
from stagepost.workflows import ScheduleNotReadable
from stagepost.workflows._schedules._terms import MOST, Due, Terms
from stagepost.workflows._schedules._when import Cron, Every, Times, following, shortest, zone_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")


def local(times: Sequence[datetime], zone: ZoneInfo = BERLIN) -> list[str]:
    return [f"{time.astimezone(zone):%d %H:%M%z}" for time in times]


GAP = datetime(2026, 3, 28, 12, tzinfo=UTC)  # on the 29th clocks go from 2:00 +01:00 to 3:00 +02:00
TWICE = datetime(2026, 10, 24, 12, tzinfo=UTC)  # on the 25th they go from 3:00 +02:00 to 2:00 +01:00
CHANGES = {
    "does not exist": ("30 2 * * *", GAP, ["29 03:00+0200", "30 02:30+0200"]),
    "all that do not exist": ("0,30 2 * * *", GAP, ["29 03:00+0200", "30 02:00+0200"]),
    "exists after": ("0 3 * * *", GAP, ["29 03:00+0200", "30 03:00+0200"]),
    "exists twice": ("30 2 * * *", TWICE, ["25 02:30+0200", "26 02:30+0100"]),
    "each hour over a gap": ("0 * * * *", GAP + 11 * HOUR, ["29 01:00+0100", "29 03:00+0200"]),
    "each hour twice": ("0 * * * *", TWICE + 11 * HOUR, ["25 02:00+0200", "25 02:00+0100", "25 03:00+0100"]),
    "midnight": ("0 0 * * SUN", GAP, ["29 00:00+0100", "05 00:00+0200"]),
}


@pytest.mark.parametrize(("text", "since", "expected"), CHANGES.values(), ids=CHANGES)
def test_summer_time_comes_and_goes(text: str, since: datetime, expected: list[str]) -> None:
    assert local(list(following(Cron(text, BERLIN), None, since, len(expected)))) == expected


def test_a_time_that_exists_twice_does_not_come_again_in_its_second_hour() -> None:
    cron = Cron("30 2 * * *", BERLIN)
    between = datetime(2026, 10, 25, 1, 10, tzinfo=UTC)  # 2:10 for the second time
    assert local([found for found in [cron.after(None, between)] if found]) == ["26 02:30+0100"]


TEXTS = st.sampled_from(
    ["* * * * *", "*/7 * * * *", "15 * * * *", "30 2 * * *", "0 1-3 * * *", "*/20 2 * * *", "0 0 L * *", "5 4 * * SUN"]
)
ZONES = st.sampled_from([UTC, BERLIN, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("America/Sao_Paulo")])
MOMENTS = st.datetimes(datetime(2015, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001  # see timezones
TIMES = st.one_of(
    st.builds(Cron, TEXTS, ZONES), st.builds(Every, st.timedeltas(timedelta(seconds=1), timedelta(days=90)))
)


@given(TIMES, MOMENTS)
def test_times_rise_and_are_the_same_from_wherever_they_are_counted(times: Times, since: datetime) -> None:
    found = list(following(times, None, since, 30))
    assert all(earlier < later for earlier, later in pairwise([since, *found]))
    assert found[10:] == list(following(times, found[0], found[9], 20))


@given(TIMES, MOMENTS, st.integers(1, 8), st.integers(1, 40))
def test_what_has_come_is_what_follows(times: Times, since: datetime, most: int, count: int) -> None:
    found = list(following(times, None, since, count + 1))
    past = times.past(found[0], found[-1] - timedelta(microseconds=1), most)
    assert list(past.latest) == found[:-1][-most:]
    assert past.before <= count - len(past.latest)


def test_a_distance_does_not_drift() -> None:
    every = Every(timedelta(seconds=10))
    late = NOON + timedelta(days=400, seconds=3, microseconds=7)
    assert every.after(NOON, late) == NOON + timedelta(days=400, seconds=10)
    assert every.after(NOON, NOON - timedelta(seconds=25)) == NOON - timedelta(seconds=20)
    last = NOON + timedelta(days=400)
    assert every.past(NOON, late, 2) == ([last - timedelta(seconds=10), last], 400 * 8640 - 1)


def test_times_have_an_end() -> None:
    assert Every(timedelta(days=365_000)).after(None, datetime(9900, 1, 1, tzinfo=UTC)) is None
    assert shortest(Every(timedelta(days=365_000)), datetime(9900, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize("text", ["", "* * * *", "@daily", "0 0 0 * * *", "61 * * * *", "0 0 30 2 *", "x * * * *"])
def test_what_is_no_cron_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no cron text"):
        Cron(text, UTC).after(None, NOON)


@pytest.mark.parametrize("name", ["Mars/Base", "../etc/passwd", ""])
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        zone_of(name)


HOURLY = Terms(when=HOUR)


def stored(definition: bytes) -> StoredSchedule:
    return StoredSchedule("key", "work", definition, None, None, NOON)


@pytest.mark.parametrize(
    ("missed", "late", "expected"),
    [
        ("skip", timedelta(seconds=60), Due([NOON], 0, NOON + HOUR)),
        ("skip", timedelta(seconds=61), Due([], 1, NOON + HOUR)),
        ("skip", 3 * HOUR, Due([NOON + 3 * HOUR], 3, NOON + 4 * HOUR)),
        ("once", timedelta(minutes=59), Due([NOON], 0, NOON + HOUR)),
        ("once", 3.5 * HOUR, Due([NOON + 3 * HOUR], 3, NOON + 4 * HOUR)),
        ("all", 2.5 * HOUR, Due([NOON, NOON + HOUR, NOON + 2 * HOUR], 0, NOON + 3 * HOUR)),
    ],
)
def test_what_is_done_about_missed_times(missed: str, late: timedelta, expected: Due) -> None:
    terms = Terms(when=HOUR, missed=missed)  # type: ignore[arg-type]  # one of them
    found = terms.due("key", NOON, NOON + late)
    assert (list(found.times), found.missed, found.next) == (list(expected.times), expected.missed, expected.next)


def test_all_has_a_limit() -> None:
    found = Terms(when=HOUR, missed="all").due("key", NOON, NOON + 5_000 * HOUR)
    assert (len(found.times), found.missed, found.times[-1]) == (MOST, 5_001 - MOST, NOON + 5_000 * HOUR)


def test_a_long_absence_is_not_counted_out_for_cron_texts() -> None:
    found = Terms(when="* * * * *", missed="once").due("key", NOON, NOON + timedelta(days=3_650))
    assert found.times == [NOON + timedelta(days=3_650)]
    assert found.missed >= 1_000


def test_times_end_with_until() -> None:
    terms = Terms(when=HOUR, missed="all", until=NOON + HOUR)
    assert terms.due("key", NOON, NOON + 9 * HOUR) == ([NOON, NOON + HOUR], 0, None)
    assert terms.after(NOON, NOON) == NOON + HOUR


def test_a_time_that_is_none_any_more_is_kept() -> None:
    """The rules of a time zone have changed since."""
    terms = Terms(when="0 0 1 1 *", missed="once")
    assert terms.due("key", NOON, NOON + HOUR) == ([NOON], 0, datetime(2027, 1, 1, tzinfo=UTC))


def test_jitter_is_the_same_for_a_time_and_spreads() -> None:
    terms = Terms(when=HOUR, jitter=timedelta(minutes=10))
    looks = [terms.look_at(f"key {number}", NOON) - NOON for number in range(100)]
    assert looks == [terms.look_at(f"key {number}", NOON) - NOON for number in range(100)]
    assert all(timedelta() <= look < timedelta(minutes=10) for look in looks)
    assert max(looks) - min(looks) > timedelta(minutes=8)


def test_a_time_whose_jitter_is_not_over_is_not_due() -> None:
    terms = Terms(when=HOUR, jitter=timedelta(minutes=59), missed="all")
    second = NOON + HOUR
    before = terms.look_at("key", second) - timedelta(microseconds=1)
    assert terms.due("key", NOON, before) == ([NOON], 0, second)
    assert terms.due("key", NOON, terms.look_at("key", second)) == ([NOON, second], 0, second + HOUR)


def test_terms_are_read_as_they_were_written() -> None:
    every = Terms(
        when=timedelta(days=2, microseconds=5),
        state=b'{"n":1.5,"deep":{"a":[1,null]}}',
        missed="all",
        jitter=timedelta(seconds=3),
        until=NOON,
        due_as="at",
        labels={"a": "b"},
    )
    for terms in (every, Terms(when="0 3 * * *", zone="Europe/Berlin", overlap="skip")):
        assert Terms.of(stored(terms.dump())) == terms


@pytest.mark.parametrize("data", [b"{}", b"[]", HOURLY.dump().replace(b'"skip"', b'"later"'), b'{"state":1}'])
def test_terms_that_make_no_sense_are_refused(data: bytes) -> None:
    with pytest.raises(ScheduleNotReadable, match="schedule 'key' makes no sense to this version"):
        Terms.of(stored(data))
