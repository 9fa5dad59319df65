"""What has become of a run between two looks, and how it is told: without a store."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from tests._needs import need

need("typer", "rich")

from stagepost.checkpoint import (  # noqa: E402  # after the check of what they need
    Effect,
    EffectStatus,
    Frame,
    Item,
    ItemStatus,
    Page,
    RunInfo,
    RunStatus,
    SentSignal,
    Snapshot,
    StoredWait,
    WaitKind,
    WaitStatus,
)
from stagepost.service._cli._following import tell  # noqa: E402
from stagepost.service._cli._listing import _run_lines, wait_lines  # noqa: E402
from stagepost.service._cli._screen import Screen  # noqa: E402
from stagepost.service._cli._showing import _lines  # noqa: E402
from stagepost.service._verbs._changes import Look, changes  # noqa: E402
from stagepost.service._wire._made import run_page, run_shown  # noqa: E402
from stagepost.service._wire._run import RunShown  # noqa: E402
from stagepost.service._wire._runs import DamagedRun, RunPage  # noqa: E402
from stagepost.service._wire._waits import WaitRow  # noqa: E402

NOW = datetime(2026, 11, 23, 18, 54, tzinfo=UTC)
WAIT = StoredWait("ask", WaitKind.ANSWER, "ask", None, None, WaitStatus.OPEN, None, None, NOW, None)
TIMER = StoredWait("rest", WaitKind.TIMER, "rest", None, NOW, WaitStatus.OPEN, None, None, NOW, None)


def info(status: RunStatus = RunStatus.RUNNING, **known: Any) -> RunInfo:
    never = (None, False, 1, 1, 0, NOW, None)  # error, cancelling, owner, epoch, attempts, created_at, finished_at
    run = RunInfo("r", "w", 1, status, None, b"{}", *never)
    return run._replace(**known)


def look(
    place: str | None,
    *,
    run: RunInfo | None = None,
    done: int = 0,
    waits: Sequence[StoredWait] = (),
    children: dict[str, str] | None = None,
) -> Look:
    items = [Item("parts", 0, index, ItemStatus.OK if index < done else ItemStatus.WAITING, b"1") for index in range(3)]
    frames = {"": Frame("", 1, place, {"x": b"1"}), "parts[0]": Frame("parts[0]", 1, None, {})}
    return Look(Snapshot(run or info(), frames, items, waits), children or {}, {"ask": "r/ask"}, NOW)


def told(before: Look | None, now: Look) -> list[str]:
    out = StringIO()
    for event in changes(before, now):
        tell(Screen(as_json=False, out=out), event)
    return [line.split("  ", 1)[1] for line in out.getvalue().splitlines()]


def test_the_first_look_tells_where_the_run_stands() -> None:
    first = look(
        "a", done=1, waits=[WAIT, replace(WAIT, place="b", status=WaitStatus.ANSWERED)], children={"r.c": "running"}
    )
    assert told(None, first) == [
        "running",
        "→ a",
        "· parts  1 of 3",
        "↳ r.c  running",
        "? ask waits for an answer: stagepost runs answer r/ask VALUE",
    ]


def test_later_looks_tell_what_is_new() -> None:
    first = look("a", waits=[WAIT, TIMER], children={"r.c": "running"})
    assert told(first, first) == []
    answered = replace(WAIT, status=WaitStatus.ANSWERED, ended_at=NOW, by="Ada")
    expired = replace(TIMER, status=WaitStatus.EXPIRED, ended_at=NOW)
    ended = info(RunStatus.FAILED, error="no \x1b disk", finished_at=NOW)
    later = look("b", run=ended, done=3, waits=[answered, expired], children={"r.c": "completed"})
    assert told(first, later) == [
        "✓ ask answered by Ada",
        "✓ rest expired",
        "→ b",
        "· parts  3 of 3",
        "↳ r.c  completed",
        "failed: no \\x1b disk",
    ]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (WaitKind.SIGNAL, "waits for a signal: stagepost runs signal r charge"),
        (WaitKind.TIMER, "waits for the time"),
        (WaitKind.EFFECT, "waits for word of an effect: stagepost runs settle r charge"),
    ],
)
def test_each_kind_of_wait_is_told(kind: WaitKind, text: str) -> None:
    wait = replace(WAIT, kind=kind, name="charge")
    assert told(look("a"), look("a", waits=[wait])) == [f"? ask {text}"]


def test_the_wait_for_a_run_below_is_told_by_that_run() -> None:
    assert told(look("a"), look("a", waits=[replace(WAIT, kind=WaitKind.CHILD)])) == []


def shown(snapshot: Snapshot, signals: Sequence[SentSignal] = ()) -> RunShown:
    return run_shown(snapshot, (), signals, "process 7 on here")


def text_of(found: RunShown) -> str:
    return "\n".join(line.plain for line in _lines(found, Screen(as_json=False)))


def test_all_of_a_run_is_shown() -> None:
    run = info(
        blocked="no \x1b place",
        key="order-1",
        attempts=3,
        finished_at=NOW,
        forked_from="q",
        forked_at=4,
    )
    items = [Item("parts", 0, 0, ItemStatus.OK, b"1"), Item("parts", 0, 1, ItemStatus.FAILED, b"1")]
    frames = {"": Frame("", 1, "parts", {"broken": b"{"}), "parts[0]": Frame("parts[0]", 1, "x", {})}
    effects = [Effect("pay", "charge", EffectStatus.INTENT), Effect("pay", "book", EffectStatus.DONE, b'"B-1"')]
    text = text_of(shown(Snapshot(run, frames, items, (), effects), [SentSignal(1, "go", b'{"n": 1}')]))
    for line in (
        "r  running (blocked)",
        "  key            order-1",
        "  taken up       after 3 crashes",
        "  fork of        q at 4",
        "  file owned by  process 7 on here",
        "  no \\x1b place",
        "  parts  1 of 2 done, 1 failed",
        "  parts[0]  at x",
        '  go  {"n": 1}',
        "  pay charge  intent",
        "  broken  {",
    ):
        assert line in text.splitlines(), text


def test_runs_and_waits_say_what_hinders_them() -> None:
    screen = Screen(as_json=False)
    page = RunPage(runs=[], next=None, previous=None, damaged=[DamagedRun(run_id="r", reason="no frame")])
    assert [line.plain for line in _run_lines(page, screen)] == ["no runs", "r  cannot be read: no frame"]
    wait = WaitRow(
        wait_id="r/a", run_id="r", workflow="w", place="a", kind="answer", name="a", shown=None, opened_at=NOW,
        due_at=NOW, blocked="no place", refused="no number",
    )  # fmt: skip
    lines = [line.plain for line in wait_lines([wait], screen)]
    assert lines[2:] == ["  the last answer was dropped: no number", "  blocked: no place"]


def test_a_list_has_the_beginning_of_a_long_error() -> None:
    page = run_page(Page([info(error="x" * 5_000), info(error="short")]))
    assert [len(row.error or "") for row in page.runs] == [1_000, 5]
    assert (page.runs[0].error or "").endswith("x…")
