"""The times of runs, as rows and as pictures."""

import re
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest
from tests.service.drawing._runs import links, nested, parked, texts, titles

from stagepost.checkpoint import AttemptOutcome, ChildRun, HappeningKind, RunStatus, WaitKind
from stagepost.service._drawing._durations import duration
from stagepost.service._drawing._marks import Mark
from stagepost.service._drawing._scale import scale_of
from stagepost.service._drawing._timeline import Row, RowKind, Span, timeline, united
from stagepost.service._drawing._waterfall import draw_waterfall
from stagepost.workflows import AttemptEntry, RetryEntry, RunEntry, WaitEntry

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
ZERO = START.timestamp()


def later(seconds: float | None) -> datetime | None:
    return None if seconds is None else START + timedelta(seconds=seconds)


def attempt(
    path: str,
    begun: float | None,
    ended: float | None,
    outcome: AttemptOutcome | None = AttemptOutcome.OK,
    *,
    children: tuple[ChildRun, ...] = (),
    retries: tuple[RetryEntry, ...] = (),
    saved: float = 0,
) -> AttemptEntry:
    return AttemptEntry(
        number=1,
        saved_at=START + timedelta(seconds=saved),
        kind=HappeningKind.STEP,
        path=path,
        attempt=1,
        begun=later(begun),
        ended=later(ended),
        outcome=outcome,
        children=children,
        retries=retries,
    )


def wait(path: str, asked: float, ended: float | None) -> WaitEntry:
    return WaitEntry(
        number=1,
        saved_at=START,
        wait_id="w",
        path=path,
        kind=WaitKind.ANSWER,
        name=path,
        status="open" if ended is None else "answered",
        asked=later(asked),
        ended=later(ended),
    )


def spans(row: Row) -> list[tuple[float, float, Mark]]:
    return [(span.begin - ZERO, span.end - ZERO, span.mark) for span in row.work]


def row(path: str, *work: tuple[float, float, Mark], waits: tuple[tuple[float, float, Mark], ...] = ()) -> Row:
    return Row(path=path, name=path, work=[Span(*each) for each in work], waits=[Span(*each) for each in waits])


NOW = START + timedelta(seconds=100)


def test_work_is_told_from_waiting() -> None:
    history = [
        attempt("ask", 0, 1, AttemptOutcome.WAITING),
        wait("ask", 1, None),
        wait("ask", 1, 61),
        attempt("ask", 61, 62),
        attempt("save", 62, None, None),
    ]
    ask, save = timeline(history, now=NOW)
    assert spans(ask) == [(0, 1, Mark.DONE), (61, 62, Mark.DONE)]
    assert [(span.begin - ZERO, span.end - ZERO) for span in ask.waits] == [(1, 61)]
    assert spans(save) == [(62, 100, Mark.RUNNING)]
    assert (ask.mark, save.mark) == (Mark.DONE, Mark.RUNNING)


def test_what_waits_is_marked_so_until_now() -> None:
    (ask,) = timeline([attempt("ask", 0, 1, AttemptOutcome.WAITING), wait("ask", 1, None)], now=NOW)
    assert ask.mark is Mark.WAITING
    assert ask.waits[0].end == NOW.timestamp()


def test_what_an_ended_run_waited_for_will_not_come() -> None:
    history = [attempt("ask", 0, 1, AttemptOutcome.WAITING), wait("ask", 1, None)]
    (ask,) = timeline(history, now=START + timedelta(seconds=5), is_over=True)
    assert ask.mark is Mark.CANCELLED
    assert ask.waits[0].end - ZERO == 5


def test_an_interrupted_attempt_ends_when_that_was_stored() -> None:
    (found,) = timeline([attempt("a", 0, None, AttemptOutcome.INTERRUPTED, saved=7)], now=NOW)
    assert spans(found) == [(0, 7, Mark.CANCELLED)]


def test_what_has_no_times_has_no_row() -> None:
    assert timeline([attempt("a", None, None), RunEntry(number=1, saved_at=START, what="began")], now=NOW) == []


def test_items_come_after_their_fan_out_and_runs_after_their_step() -> None:
    child = ChildRun("r9", "fetch", "child", RunStatus.FAILED, "why", START, later(3))
    history = [
        attempt("orders[1]/check", 2, 3),
        attempt("orders[0]/check", 1, 4),
        attempt("load", 0, 1),
        attempt("orders[0]/save", 4, 5),
        attempt("orders", 1, 6),
        attempt("fetch", 6, 7, children=(child,)),
        attempt("orders[0]", 1, 5),
    ]
    rows = timeline(history, now=NOW)
    assert [(each.name, each.depth) for each in rows] == [
        ("load", 0),
        ("orders", 0),
        ("orders[0]", 1),
        ("orders[0]/check", 2),
        ("orders[0]/save", 2),
        ("orders[1]/check", 2),
        ("fetch", 0),
        ("child", 1),
    ]
    assert rows[-1].path == "r9"
    assert rows[-1].kind is RowKind.CHILD
    assert rows[-1].mark is Mark.FAILED


def test_thousands_of_items_are_one_row_for_each_step() -> None:
    history = [attempt(f"orders[{n}]/{step}", n, n + 2) for n in range(3000) for step in ("check", "save")]
    check, save = timeline([*history, attempt("orders[7]/check", 10, 12, AttemptOutcome.FAILED)], now=NOW)
    assert (check.name, check.kind, check.count) == ("orders[]/check", RowKind.ITEMS, 3000)
    assert spans(check) == [(0, 3001, Mark.FAILED)]
    assert save.mark is Mark.DONE


def test_of_very_many_steps_the_first_ones_have_rows() -> None:
    history = [attempt(f"s{number}", number, number + 1) for number in range(500)]
    rows = timeline(history, now=NOW, most=100)
    assert len(rows) == 100
    assert (rows[-1].name, rows[-1].kind) == ("401 more", RowKind.MORE)
    assert spans(rows[-1]) == [(99, 500, Mark.DONE)]


async def test_the_history_of_a_run_has_its_times() -> None:
    _, history = await parked(nested(), waits=4)
    rows = {row.path: row for row in timeline(history, now=datetime.now(UTC))}
    assert rows["review/judge/deep/checks[2]/approve"].mark is Mark.WAITING
    assert len(rows["review/draft/prose"].work) == 2


def test_times_that_touch_are_one() -> None:
    times = [Span(0, 1, Mark.DONE), Span(1, 2, Mark.FAILED), Span(3, 4, Mark.DONE)]
    assert united(times) == [Span(0, 2, Mark.FAILED), Span(3, 4, Mark.DONE)]
    assert united(times, 1) == [Span(0, 4, Mark.FAILED)]


def test_a_scale_without_long_pauses_is_even() -> None:
    scale = scale_of([Span(0, 6, Mark.DONE), Span(6.5, 10, Mark.DONE)], 0, 10)
    assert [scale.at(time) for time in (0, 2.5, 5, 10, 99, -1)] == pytest.approx([0, 25, 50, 100, 100, 0])
    assert scale.ticks() == [(0, "0 s"), (20, "2 s"), (40, "4 s"), (60, "6 s"), (80, "8 s"), (100, "10 s")]


def test_days_in_which_nothing_works_take_little_room() -> None:
    day = 86_400.0
    scale = scale_of([Span(0, 5, Mark.DONE), Span(2 * day, 2 * day + 5, Mark.DONE)], 0, 2 * day + 5)
    assert [stretch.is_cut for stretch in scale.stretches] == [False, True, False]
    assert scale.at(5) == pytest.approx(46.7, abs=0.1)
    assert scale.at(2 * day) == pytest.approx(53.3, abs=0.1)
    assert {"0 s", "+2 s"} <= {text for _, text in scale.ticks()}


def test_after_a_pause_times_count_from_the_beginning_where_they_can_be_told_apart() -> None:
    scale = scale_of([Span(0, 60, Mark.DONE), Span(3_600, 3_720, Mark.DONE)], 0, 3_720)
    assert [stretch.is_cut for stretch in scale.stretches] == [False, True, False]
    late = [text for place, text in scale.ticks() if place > scale.stretches[2].at]
    assert late
    assert all(text.startswith("1 h") for text in late)


def test_short_pauses_are_not_cut_however_short_the_work_is() -> None:
    scale = scale_of([Span(0, 0.001, Mark.DONE), Span(0.9, 0.901, Mark.DONE)], 0, 60)
    assert [stretch.is_cut for stretch in scale.stretches] == [False, True]
    assert scale.at(0.901) == pytest.approx(93.5, abs=0.1)


@pytest.mark.parametrize("end", [0.0, 0.004, 0.9, 40, 5_000, 9 * 86_400.0, 400 * 86_400.0])
def test_a_scale_has_some_ticks_however_long_it_is(end: float) -> None:
    ticks = scale_of([Span(0, end, Mark.DONE)], 0, end).ticks()
    assert 2 <= len(ticks) <= 8
    assert scale_of([], 0, end).at(end) in (0, 100)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0004, "<1 ms"),
        (0.04, "40 ms"),
        (2, "2 s"),
        (2.54, "2.5 s"),
        (65, "1 min 5 s"),
        (60, "1 min"),
        (3 * 86_400 + 4 * 3600 + 5, "3 d 4 h"),
        (3 * 86_400 + 5, "3 d"),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_waterfall_says_in_words_what_it_shows() -> None:
    rows = [
        row("load", (0, 1, Mark.DONE)),
        row("ask", (1, 2, Mark.DONE), (50, 51, Mark.RUNNING), waits=((2, 50, Mark.DONE),)),
        Row(path="flaky", name="flaky", work=[Span(51, 54, Mark.FAILED)], tries=[52, 53]),
        row("loop", (54, 55, Mark.DONE), (56, 57, Mark.DONE)),
    ]
    svg = draw_waterfall(rows, title="Times of run 7", now=57, address=lambda each: f"/step/{each.path}")
    said = titles(svg)
    assert said[0] == "Times of run 7"
    assert "place load: done, 1 s" in said
    assert "place ask: running, 2 s · 48 s waiting" in said
    assert "place flaky: failed, 3 s · 3 tries" in said
    assert "place loop: done, 2 s · 2 times" in said
    assert "48 s without work" in said
    assert "waiting: 48 s" in said
    assert links(svg)["row-ask"] == "/step/ask"


def test_a_waterfall_without_rows_is_only_its_scale() -> None:
    assert "0 s" in texts(draw_waterfall([], title="t", now=5))


def test_thousands_of_times_in_one_row_are_drawn_as_few() -> None:
    many = row("s", *((n, n + 0.9, Mark.DONE) for n in range(5000)))
    svg = draw_waterfall([many], title="t", now=5000)
    assert len(svg) < 20_000


def test_a_waterfall_has_nothing_but_texts_of_hostile_names() -> None:
    name = "<script>\x00\u202e" + "x" * 100_000
    svg = draw_waterfall([row(name, (0, 1, Mark.DONE))], title=name, now=1, address=lambda _: "/a?b=<\"'&")
    ET.fromstring(svg)  # noqa: S314  # our own
    assert "<script" not in svg
    assert not re.search(r"\s(style|on\w+)=", svg)


def test_of_merged_rows_it_is_said_how_many_they_are() -> None:
    rows = [
        Row(path="orders[]/check", name="orders[]/check", kind=RowKind.ITEMS, work=[Span(0, 1, Mark.DONE)], count=1204),
        Row(path="", name="70 more", kind=RowKind.MORE, work=[Span(1, 2, Mark.DONE)], count=70),
    ]
    svg = draw_waterfall(rows, title="t", now=2)
    assert {"orders[]/check (1,204)", "70 more"} <= set(texts(svg))
