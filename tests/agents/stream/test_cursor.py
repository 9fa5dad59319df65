"""Cursors are texts that come back, and nothing else is taken for one."""

import string
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stagepost.agents import InvalidCursor
from stagepost.agents._stream._cursor import check_of, parse, render
from stagepost.agents._stream._position import CallTold, Cursor, End, Position

NAMES = st.text(string.ascii_letters + string.digits + "_-", max_size=12)
COUNT = st.integers(0, 12)


def positions(below: st.SearchStrategy[Position | None]) -> st.SearchStrategy[Position]:
    told = st.builds(CallTold, COUNT, COUNT, COUNT, st.integers(0, 2), below, st.booleans(), st.booleans())

    def shifted(position: Position) -> Position:
        return position._replace(calls={position.upto + 1 + index: each for index, each in position.calls.items()})

    made = st.builds(
        Position, st.integers(-1, 10**6), COUNT, COUNT, st.dictionaries(st.integers(0, 9), told, max_size=4), NAMES
    )
    return made.map(shifted)


POSITIONS: st.SearchStrategy[Position] = st.recursive(
    positions(st.none()), lambda below: positions(st.none() | below), max_leaves=6
)
ENDS = st.builds(End, st.sampled_from(["completed", "failed", "cancelled", "dead"]), st.integers(1, 99))
CURSORS = st.builds(Cursor, POSITIONS, st.none() | ENDS)


@given(CURSORS, st.text(max_size=20))
def test_a_cursor_comes_back_from_its_text(cursor: Cursor, run_id: str) -> None:
    assert parse(render(cursor, run_id), run_id) == cursor


@given(CURSORS)
def test_a_text_is_safe_in_addresses_and_events(cursor: Cursor) -> None:
    text = render(cursor, "r")
    assert parse_qs(f"after={text}") == {"after": [text]}
    assert text.isascii()
    assert text.isprintable()
    assert " " not in text


@given(
    st.text(max_size=30) | st.text("0123456789.~aqdcrh()!-*@", max_size=30).map(lambda text: f"{check_of('r')}-{text}")
)
def test_any_text_is_a_cursor_or_refused_as_one(text: str) -> None:
    try:
        cursor = parse(text, "r")
    except InvalidCursor as error:
        assert error.cursor == text  # noqa: PT017  # either is right
    else:
        assert parse(render(cursor, "r"), "r") == cursor


def test_what_a_text_says() -> None:
    cursor = Cursor(
        Position(6, 2, 0, {7: CallTold(approvals=2, result=True), 8: CallTold(agent=1, below=Position(3, 1))})
    )
    assert render(cursor, "r").partition("-")[2] == "6.2~7a2r~8c1(3.1)"
    assert render(Cursor(Position(42, 9), End("completed", 1)), "r").partition("-")[2] == "42.9!completed.1"


def test_a_usual_cursor_is_short() -> None:
    below = Position(1999, 700, 0, {2000 + n: CallTold(2, 2, 0, 0, None, True) for n in range(3)})
    calls = {10_001 + n: CallTold(approvals=2, agent=1, below=below) for n in range(3)}
    assert len(render(Cursor(Position(10_000, 4_000, 0, calls)), "a-long-id-of-a-run" * 5)) <= 200


def test_the_cursor_of_another_run_is_refused() -> None:
    text = render(Cursor(Position(6)), "r")
    with pytest.raises(InvalidCursor, match="another run than 'other'") as caught:
        parse(text, "other")
    assert caught.value.cursor == text


OWN = f"{check_of('r')}-"
NO_CURSORS = [
    *("", "6", "6.2", "x-6.2", OWN, f"{OWN}6", f"{OWN}6.2~", f"{OWN}6.2~7(", f"{OWN}6.2~7r~7r", f"{OWN}6.2~6r"),
    *(f"{OWN}6.2~7(3.1", f"{OWN}6.2!", f"{OWN}6.2\n", f"{OWN}6.2!completed.1x", OWN + "6.2~7(" * 60, "9" * 30_000),
    f"{OWN}\N{ARABIC-INDIC DIGIT SIX}.2",
]


@pytest.mark.parametrize("text", NO_CURSORS, ids=range(len(NO_CURSORS)))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursor, match="from the start"):
        parse(text, "r")


def test_a_cursor_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidCursor):
        parse(6, "r")  # type: ignore[arg-type]  # as a caller without types gives it
