"""The parts that an assistant is made of: ranges of days, requests, texts."""

from datetime import UTC, date, datetime
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests._examples import law
from tests.service.assistant._desk import GOOD, PATIENT, Rules, desk, request, says

from stagepost.service.assistant import RANGES, AssistantTexts, DateRange, InvalidRange, StageBudgets, User, date_range
from stagepost.service.channels import ChannelLimit, Channels, FormattedResponse, Reply, StyleGuide, TextFormatter

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)  # a Sunday; in Los Angeles it is still February


@pytest.mark.parametrize(
    ("name", "zone", "first", "last"),
    [
        ("today", "UTC", "2026-03-01", "2026-03-01"),
        ("today", "America/Los_Angeles", "2026-02-28", "2026-02-28"),
        ("yesterday", "UTC", "2026-02-28", "2026-02-28"),
        ("this_week", "UTC", "2026-02-23", "2026-03-01"),
        ("This week", "UTC", "2026-02-23", "2026-03-01"),
        ("last_week", "UTC", "2026-02-16", "2026-02-22"),
        ("this_month", "UTC", "2026-03-01", "2026-03-31"),
        ("this_month", "America/Los_Angeles", "2026-02-01", "2026-02-28"),
        ("last_month", "UTC", "2026-02-01", "2026-02-28"),
        ("2026-02-27", "UTC", "2026-02-27", "2026-02-27"),
        ("2025-12-30:2026-01-02", "UTC", "2025-12-30", "2026-01-02"),
        ("2025-12-30 : 2026-01-02", "UTC", "2025-12-30", "2026-01-02"),
    ],
)
def test_names_stand_for_days_in_the_time_zone_of_the_user(name: str, zone: str, first: str, last: str) -> None:
    found = date_range(name, now=NOW, time_zone=zone)
    assert (str(found.first), str(found.last)) == (first, last)
    assert found.first in found
    assert date(2020, 1, 1) not in found


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("someday", "it is none of today, yesterday"),
        ("2026-02-30", "does not exist"),
        ("2026-03-02:2026-03-01", "is after"),
        ("", "it is none of"),
    ],
)
def test_other_names_are_refused(name: str, why: str) -> None:
    with pytest.raises(InvalidRange, match=why):
        date_range(name, now=NOW, time_zone="UTC")


@pytest.mark.parametrize(
    ("name", "now", "zone", "why"),
    [
        ("today", datetime(2026, 3, 1), "UTC", "has no time zone"),  # noqa: DTZ001  # that is what is tried
        ("today", NOW, "Mars/Olympus", "no time zone is named 'Mars/Olympus'"),
        ("today", NOW, "a\0b", "no time zone is named"),
        ("last_month", datetime(1, 1, 1, tzinfo=UTC), "UTC", "before the year 1"),
        ("today", datetime(9999, 12, 31, 23, tzinfo=UTC), "Asia/Tokyo", "after 9999"),
    ],
    ids=["naive", "unknown zone", "no name", "first month", "last day"],
)
def test_a_time_that_has_no_days_is_refused(name: str, now: datetime, zone: str, why: str) -> None:
    with pytest.raises(InvalidRange, match=why):
        date_range(name, now=now, time_zone=zone)


def test_a_range_is_in_order() -> None:
    with pytest.raises(ValidationError, match="is after"):
        DateRange(name="x", first=date(2026, 1, 2), last=date(2026, 1, 1))


@given(
    st.sampled_from(RANGES),
    st.datetimes(timezones=st.just(UTC)).filter(lambda now: 1900 < now.year < 9000),
    st.sampled_from(["UTC", "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati", "Europe/Oslo"]),
)
@law(40, 1000)
def test_each_range_has_whole_days_around_now(name: str, now: datetime, zone: str) -> None:
    found = date_range(name, now=now, time_zone=zone)
    today = date_range("today", now=now, time_zone=zone).first
    assert (today in found) is (name in {"today", "this_week", "this_month"})
    assert 1 <= (found.last - found.first).days + 1 <= 31
    if name.endswith("week"):
        assert (found.first.weekday(), (found.last - found.first).days) == (0, 6)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime"])
def test_a_time_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(ValidationError, match="no time zone is named"):
        User(id="ada", time_zone=zone)


@pytest.mark.parametrize("text", ["", "   ", "x" * 20_001], ids=["empty", "blank", "too long"])
def test_a_message_that_says_nothing_or_too_much_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        request(text)


@pytest.mark.parametrize("text", ["---", "![](https://example.org/x.png)", "\u200b", "****"])
async def test_an_answer_of_which_nothing_is_visible_does_not_go_out_empty(text: str) -> None:
    async with desk(Rules(composer=says({"response": text}), refiner=says({"response": text}))) as it:
        result = await it.assistant.ask(request())
        (sent,) = it.outbox.texts("+47")
    assert sent.strip()
    assert result.metadata.delivered


async def test_formatters_and_criteria_that_fail_hold_up_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_more: object) -> Any:
        raise OSError("the file is gone")

    broken = Channels()
    monkeypatch.setattr(broken, "format", fail)

    async with desk(channels=broken) as it:
        result = await it.assistant.ask(request())
        assert it.outbox.texts("+47") == [AssistantTexts().last_resort]
    assert result.formatted_response.metadata.fell_back
    async with desk(guide=fail) as it:
        result = await it.assistant.ask(request())
        assert it.outbox.texts("+47") == [f"Hi,\n\n{GOOD}"]
    assert result.metadata.style_version == "1.0+defaults"
    async with desk(criteria=fail) as it:
        result = await it.assistant.ask(request())
        assert it.outbox.texts("+47") == [f"Hi,\n\n{GOOD}"]
    assert [each.id for each in result.scorecards[0].criteria] == ["answers_question", "sms_format"]


async def test_an_answer_that_takes_too_long_to_format_goes_out_as_it_came() -> None:
    held = Event()

    class Slow:
        def format(self, reply: Reply, guide: StyleGuide, limit: ChannelLimit) -> FormattedResponse:
            assert held.wait(20)
            return TextFormatter().format(reply, guide, limit)

    budgets = StageBudgets.model_validate({**PATIENT.model_dump(by_alias=True), "brand": 0.01})
    async with desk(channels=Channels({"sms": Slow()}), budgets=budgets) as it:
        try:
            result = await it.assistant.ask(request())
        finally:
            held.set()
        assert it.outbox.texts("+47") == [f"Hi,\n\n{GOOD}"]
    assert result.formatted_response.metadata.fell_back


@pytest.mark.parametrize("tenant", ["", "a/b", "x" * 201], ids=["empty", "with a slash", "too long"])
def test_a_tenant_that_could_be_mistaken_for_another_is_refused(tenant: str) -> None:
    with pytest.raises(ValidationError, match="tenant"):
        request(tenant=tenant)


def test_texts_for_when_nothing_else_can_be_said_say_something() -> None:
    with pytest.raises(ValidationError, match="last_resort"):
        AssistantTexts(last_resort=" ")


async def test_an_apology_that_does_not_fit_its_channel_is_replaced_by_the_last_one() -> None:
    texts = AssistantTexts(cannot_help="# **Sorry**", last_resort="Sorry.")
    async with desk(Rules(composer=says({"response": ""})), texts=texts) as it:
        await it.assistant.ask(request())
        assert it.outbox.texts("+47") == ["Hi,\n\n❌ Sorry."]
        result = await it.assistant.ask(request(number=2, channel="email"))
    assert "Sorry" in result.formatted_response.text
