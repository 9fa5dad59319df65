"""``runs history``: what has happened to a run."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.service.conftest import Command

from stagepost.checkpoint import ChildRun, HappeningKind, RunStatus, WaitKind
from stagepost.service._cli._history import _lines
from stagepost.service._cli._screen import Screen
from stagepost.service._wire._history import HistoryPage
from stagepost.workflows import (
    AskedArrow,
    AttemptEntry,
    ChildEntry,
    DecisionEntry,
    FrameEntry,
    HistoryEntry,
    ItemsEntry,
    RetryEntry,
    RunHistory,
    WaitEntry,
)

NOW = datetime(2026, 11, 23, tzinfo=UTC)
CHILD = ChildRun("r.a", "ask", "w", RunStatus.RUNNING, None, NOW, None)


def test_the_steps_of_a_run_are_told_in_their_order(command: Command, file: Path) -> None:
    result = command("runs", "history", "digest-1", "-f", file)
    rows = [
        line.split()[0] + " " + " ".join(line.split()[2:6]) for line in result.stdout.splitlines() if line[0] != " "
    ]
    assert rows[0] == "# WHERE WHAT TOOK"
    assert rows[1] == "1 the run began"
    assert rows[2].startswith("2 draft ok")
    assert "asks for an answer" in result.stdout
    assert result.stderr == ""


def test_a_history_is_read_by_pages(command: Command, file: Path) -> None:
    page = json.loads(command("runs", "history", "digest-1", "-n", "1", "-f", file, "--json").stdout)
    rest = json.loads(command("runs", "history", "digest-1", "--after", page["next"], "-f", file, "--json").stdout)
    assert [entry["number"] for entry in (*page["items"], *rest["items"])] == [1, 2, 3, 4]
    assert "--after 1" in command("runs", "history", "digest-1", "-n", "1", "-f", file).stderr


def test_a_run_without_history_says_so(command: Command, file: Path) -> None:
    result = command("runs", "history", "failed-1", "-f", file)
    assert (result.exit_code, "keeps no history" in result.stderr) == (0, True)
    assert command("runs", "history", "nobody", "-f", file).exit_code == 3


STEP = HappeningKind.STEP
UNDER_WAY = AttemptEntry(number=None, saved_at=NOW, kind=STEP, path="a", attempt=2, begun=NOW, ended=None, outcome=None)


def wait(kind: WaitKind, status: str) -> WaitEntry:
    return WaitEntry(number=3, saved_at=NOW, wait_id="r/a", path="a", kind=kind, name="x", status=status, asked=NOW)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (UNDER_WAY, "under way, attempt 2"),
        (ItemsEntry(number=3, saved_at=NOW, path="parts", visits=(2,), count=7), "parts#2  7 items"),
        (ChildEntry(number=3, saved_at=NOW, path="ask", child=CHILD), "has started r.a"),
        (FrameEntry(number=3, saved_at=NOW, path="", next="b"), "goes on at b"),
        (FrameEntry(number=3, saved_at=NOW, path="", next=None), "at its end"),
        (wait(WaitKind.EFFECT, "open"), "asks for word of x"),
        (wait(WaitKind.SIGNAL, "open"), "asks for signal x"),
        (wait(WaitKind.SIGNAL, "expired"), "expired"),
    ],
    ids=["attempt", "items", "child", "frame", "end", "effect", "signal", "expired"],
)
def test_each_kind_of_entry_is_told(entry: HistoryEntry, told: str) -> None:
    assert told in text_of(entry)


def test_decisions_retries_and_children_are_told_below_their_step() -> None:
    entry = AttemptEntry(
        number=3,
        saved_at=NOW,
        kind=STEP,
        path="a",
        attempt=1,
        begun=NOW,
        ended=NOW,
        outcome=None,
        decisions=(
            DecisionEntry(path="choice", route="left", routes=("left", "right")),
            DecisionEntry(
                path="a->", to="b", asked=(AskedArrow("is_good", "c", says=False), AskedArrow(None, "b", says=True))
            ),
            DecisionEntry(path="b->", failed=True),
        ),
        retries=(RetryEntry(attempt=1, at=NOW, error="busy", seconds=0.1),),
        children=(CHILD,),
    )
    told = text_of(entry)
    for text in (
        "choice takes left, of left, right",
        "a-> → b, is_good: no, always: yes",
        "b-> has no way on",
        "try 1 failed: busy",
        "has started r.a: running",
    ):
        assert text in told


def text_of(entry: HistoryEntry) -> str:
    found = RunHistory(run_id="r", workflow="w", version=1, status=RunStatus.RUNNING, is_complete=True, items=(entry,))
    return "\n".join(line.plain for line in _lines(HistoryPage.model_validate(found.to_dict()), Screen(as_json=False)))
