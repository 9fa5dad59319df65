"""Texts, times and columns: pure functions."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from rich.text import Text
from tests._needs import need

need("rich")

from stagepost.service._cli._layout import Column, cut, lines  # noqa: E402  # after the check of what they need
from stagepost.service._cli._texts import clean, clean_json, one_line, shortened  # noqa: E402
from stagepost.service._cli._times import age, local, read_time, took  # noqa: E402
from stagepost.service._cli._values import tree  # noqa: E402

NOW = datetime(2026, 11, 23, 18, 54, 30, tzinfo=UTC)


@given(st.text())
def test_no_text_moves_the_cursor_of_a_terminal(text: str) -> None:
    bad = {chr(code) for code in (*range(32), *range(0x7F, 0xA0), 0x202E)} - {"\n", "\t"}
    for shown in (clean(text), one_line(text), shortened(text, 20)):
        assert not bad & set(shown)
    assert "\n" not in one_line(text)
    assert len(shortened(text, 20)) <= 20


def test_of_a_long_text_only_the_beginning_is_looked_at() -> None:
    assert shortened("a" * 20, 20) == "a" * 20
    assert shortened("a" * 1_000_000, 20) == "a" * 19 + "…"
    assert shortened(" " * 1_000_000 + "a", 20) == "…"


@given(st.text())
def test_json_stays_the_same_value(text: str) -> None:
    found = clean_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(found) == text
    assert not {"\x1b", "\x9b", "\x7f", "\u202e", "\u2028"} & set(found)


def test_control_characters_are_written_out() -> None:
    assert clean("a\x1b[31m\x9b\x07\u202e\r\nb\tc") == "a\\x1b[31m\\x9b\\x07\\u202e\nb\tc"
    assert clean_json('"\x9b\u2028"') == '"\\u009b\\u2028"'


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0042, "4 ms"), (1.25, "1.2 s"), (42, "42 s"), (185, "3 min 5 s"), (7200, "2 h"), (90_000, "1 d 1 h")],
)
def test_durations_are_told_in_their_largest_units(seconds: float, text: str) -> None:
    assert took(seconds) == text


def test_times_are_told_as_short_as_they_can_be() -> None:
    assert age(NOW - timedelta(minutes=3), NOW) == "3 min ago"
    assert age(NOW + timedelta(days=3), NOW) == "in 3 d"
    assert age(NOW, NOW) == "now"
    here = NOW.astimezone()
    assert local(NOW, NOW) == f"{here:%H:%M:%S}"
    assert local(NOW - timedelta(days=40), NOW).startswith("Oct 14")
    assert local(NOW - timedelta(days=400), NOW).startswith("2025-")


def test_times_are_read() -> None:
    assert read_time("90s", NOW) == NOW - timedelta(seconds=90)
    assert read_time("1.5h", NOW) == NOW - timedelta(minutes=90)
    assert read_time("2026-11-20T10:00:00+02:00", NOW) == datetime(2026, 11, 20, 8, tzinfo=UTC)
    for wrong in ("soon", "h", "", "2x", "2026-13-01"):
        with pytest.raises(ValueError, match="is no time"):
            read_time(wrong, NOW)


def test_columns_are_shortened_until_they_fit_and_those_without_content_left_out() -> None:
    columns = [
        Column("RUN", [Text("an-id"), Text("another-id")]),
        Column("NONE", [Text(""), Text("")]),
        Column("TEXT", [Text("漢字" * 20), Text("short")], least=6),
    ]
    table = lines(columns, 24)
    assert [line.plain.split()[0] for line in table] == ["RUN", "an-id", "another-id"]
    assert max(line.cell_len for line in table) <= 24
    assert all(line.plain == line.plain.rstrip() for line in table)
    assert max(line.cell_len for line in lines(columns, None)) > 80
    assert max(line.cell_len for line in lines(columns, 10)) == 18  # what may not be shortened stays whole
    assert lines([Column("RUN", [])], 80) == []
    assert cut(Text("abcdef"), 3).plain == "ab…"


def test_a_value_is_shown_whole() -> None:
    value: JsonValue = {"name": "Ada", "text": "two\nlines", "none": None, "empty": [], "list": [1, {"a": True}]}
    assert [line.plain for line in tree(value)] == [
        "  name  Ada",
        "  text",
        "    two",
        "    lines",
        "  none  null",
        "  empty  []",
        "  list",
        "    [0]  1",
        "    [1]",
        "      a  true",
    ]
