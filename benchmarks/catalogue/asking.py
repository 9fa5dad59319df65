"""What is asked of the catalogue, and the statement with which raw `sqlite3` finds the same."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple, TypeAlias, Unpack

from stagepost.checkpoint import RunFilters, RunStatus, StoreReader

Ask: TypeAlias = Callable[[StoreReader], Awaitable[object]]
REGION: Final = {"region": "r1"}
_PAGE: Final = 50.0
_COUNT: Final = 200.0
_COLUMNS: Final = """
runs.rk, run_id, workflow, status, input, error, runs.created_at, finished_at,
(SELECT json_group_object(name, value) FROM labels WHERE labels.rk = runs.rk)
"""
_OF_LABEL: Final = "labels CROSS JOIN runs ON runs.rk = labels.rk WHERE name = 'region' AND value = 'r1'"
_HAS_LABEL: Final = "EXISTS (SELECT 1 FROM labels AS l WHERE l.rk = runs.rk AND name = 'region' AND value = 'r1')"


class Question(NamedTuple):
    """One row of the table.

    Attributes:
        name: What is asked.
        ask: Asks it.
        floor: What raw `sqlite3` executes for it.
        wanted: Milliseconds that it may take at a million runs; None if nothing is promised.
    """

    name: str
    ask: Ask
    floor: str
    wanted: float | None


def questions(middle: datetime) -> Sequence[Question]:
    """All of them, about runs of which half were started before a time."""
    return [*_pages(middle), *_counts(middle)]


def _pages(middle: datetime) -> Sequence[Question]:
    at = _micros(middle)
    several = RunFilters(status=RunStatus.FAILED, workflow="support", labels=REGION)
    before = f"{at}.0"
    return [
        _page("newest failed", "status = 'failed'", newest_first=True, status=RunStatus.FAILED),
        _page("of a workflow", f"workflow = 'flow-7' AND created_at >= {at}", workflow="flow-7", since=middle),
        _page("ended", f"finished_at >= {at}", order="finished_at, rk", ended_since=middle),
        Question("with a label", _finding(labels=REGION), _listed(_OF_LABEL, "labels.created_at, labels.rk"), _PAGE),
        _said("words of a third of the failures", "timeout answer"),
        _said("a word of all failures", "charge"),
        _said("a word of one failure", "550011"),
        Question(
            "back from the middle",
            lambda store: store.find(workflow="support", before=before),
            _listed(f"runs WHERE workflow = 'support' AND created_at < {at}", "created_at DESC, rk DESC"),
            _PAGE,
        ),
        _page("by three filters", f"status = 'failed' AND workflow = 'support' AND {_HAS_LABEL}", **several),
    ]


def _counts(middle: datetime) -> Sequence[Question]:
    since = f"WHERE created_at >= {_micros(middle)}"
    failed, of_one = RunFilters(status=RunStatus.FAILED), RunFilters(workflow="support")
    return [
        Question("count", lambda store: store.count(), _counted(""), _COUNT),
        Question("by status", lambda store: store.count(by="status"), _counted("", "status"), _COUNT),
        Question("by workflow", lambda store: store.count(by="workflow"), _counted("", "workflow"), _COUNT),
        Question("of a workflow", _counting(**of_one), _counted("WHERE workflow = 'support'"), _COUNT),
        Question(
            "with a label",
            _counting(labels=REGION),
            "SELECT count(*) FROM labels WHERE name = 'region' AND value = 'r1'",
            _COUNT,
        ),
        Question(
            "with a word",
            _counting(text="timeout"),
            "SELECT count(*) FROM failures WHERE failures MATCH 'timeout*'",
            _COUNT,
        ),
        Question("started since the middle", _counting(since=middle), _counted(since), _COUNT),
        Question(
            "failed, by workflow",
            lambda store: store.count(by="workflow", **failed),
            _counted("WHERE status = 'failed'", "workflow"),
            _COUNT,
        ),
        Question(
            "of a workflow, by status",
            lambda store: store.count(by="status", **of_one),
            _counted("WHERE workflow = 'support'", "status"),
            _COUNT,
        ),
        Question(
            "with a label, by status",
            lambda store: store.count(by="status", labels=REGION),
            f"SELECT status, count(*) FROM {_OF_LABEL} GROUP BY status",  # noqa: S608  # our own
            None,
        ),
    ]


def _micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)


def _listed(rows: str, order: str) -> str:
    return f"SELECT {_COLUMNS} FROM {rows} ORDER BY {order} LIMIT 101"  # noqa: S608  # our own


def _counted(condition: str, by: str | None = None) -> str:
    columns, group = (f"{by}, count(*)", f"GROUP BY {by}") if by else ("count(*)", "")
    return f"SELECT {columns} FROM runs {condition} {group}"  # noqa: S608  # our own


def _page(
    name: str, condition: str, *, order: str | None = None, newest_first: bool = False, **filters: Unpack[RunFilters]
) -> Question:
    ask = partial(_find, filters=filters, newest_first=newest_first)
    by = order or ("created_at DESC, rk DESC" if newest_first else "created_at, rk")
    return Question(name, ask, _listed(f"runs WHERE {condition}", by), _PAGE)


def _said(name: str, text: str) -> Question:
    match = " ".join(f"{word}*" for word in text.split())
    rows = f"failures CROSS JOIN runs ON runs.rk = failures.rowid WHERE failures MATCH '{match}'"
    return Question(name, _finding(text=text), _listed(rows, "failures.rowid"), _PAGE)


def _finding(**filters: Unpack[RunFilters]) -> Ask:
    return partial(_find, filters=filters)


def _counting(**filters: Unpack[RunFilters]) -> Ask:
    return lambda store: store.count(**filters)


async def _find(store: StoreReader, *, filters: RunFilters, newest_first: bool = False) -> object:
    return await store.find(newest_first=newest_first, **filters)


async def asked(reader: StoreReader, ask: Ask) -> float:
    """Milliseconds that an answer took."""
    since = perf_counter()
    await ask(reader)
    return (perf_counter() - since) * 1e3


def floor(connection: sqlite3.Connection, statement: str) -> float:
    """The same of a statement."""
    since = perf_counter()
    connection.execute(statement).fetchall()
    return (perf_counter() - since) * 1e3


def middle_of(file: Path) -> datetime:
    """A time before which half of the runs were started."""
    with closing(sqlite3.connect(file)) as connection:
        (micros,) = connection.execute("SELECT (min(created_at) + max(created_at)) / 2 FROM runs").fetchone()
    return datetime.fromtimestamp(micros // 1_000_000, UTC)
