"""Rows to records and back."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from .._codec import split_values
from .._records import Frame, Item, ItemStatus, RunInfo, RunStatus, Snapshot
from ..errors import RunNotFound

RUN_COLUMNS = "run_id, workflow, version, status, key, input, error, cancelling, owner, epoch, created_at, finished_at"
SELECT_RUN = f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?"
_SNAPSHOT = f"""
WITH run AS (SELECT * FROM runs WHERE run_id = ?)
SELECT 'run', {RUN_COLUMNS} FROM run
UNION ALL
SELECT 'frame', path, seq, next, state, visits, width, NULL, NULL, NULL, NULL, NULL, NULL
FROM frames WHERE rk = (SELECT rk FROM run)
UNION ALL
SELECT 'item', path, visit, idx, status, input, value, error, NULL, NULL, NULL, NULL, NULL
FROM items WHERE rk = (SELECT rk FROM run)
"""

Row = Sequence[Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and the values bound to it."""

    text: str
    values: tuple[str | int, ...]


def snapshot_query(run_id: str) -> Query:
    """All rows of one run in a single statement, and so as of one moment."""
    return Query(_SNAPSHOT, (run_id,))


def runs_query(status: RunStatus | None, workflow: str | None, after: str, limit: int) -> Query:
    """A page of runs in the order of their ids."""
    filters: list[str] = ["run_id > ?"]
    values: list[str | int] = [after]
    if status is not None:
        filters.append(f"status = '{RunStatus(status).value}'")  # a member of the enum: lets the partial index serve
    if workflow is not None:
        filters.append("workflow = ?")
        values.append(workflow)
    text = f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(filters)} ORDER BY run_id LIMIT ?"
    return Query(text, (*values, limit))


def to_run(row: Row) -> RunInfo:
    """The columns of `RUN_COLUMNS`."""
    run_id, workflow, version, status, key, data, error, cancelling, owner, epoch, created_at, finished_at = row
    return RunInfo(
        run_id=run_id,
        workflow=workflow,
        version=version,
        status=RunStatus(status),
        key=key,
        input=data,
        error=error,
        cancelling=bool(cancelling),
        owner=owner,
        epoch=epoch,
        created_at=to_time(created_at),
        finished_at=None if finished_at is None else to_time(finished_at),
    )


def to_snapshot(run_id: str, rows: Iterable[Row]) -> Snapshot:
    """The rows of `snapshot_query`.

    Raises:
        RunNotFound: There are none.
    """
    parts: dict[str, list[Row]] = {"run": [], "frame": [], "item": []}
    for kind, *columns in rows:
        parts[kind].append(columns)
    if not parts["run"]:
        raise RunNotFound(run_id)
    frames = [_to_frame(columns) for columns in parts["frame"]]
    items = [_to_item(columns) for columns in parts["item"]]
    items.sort(key=lambda item: (item.path, item.visit, item.idx))
    return Snapshot(to_run(parts["run"][0]), {frame.path: frame for frame in frames}, tuple(items))


def _to_frame(columns: Row) -> Frame:
    path, seq, next_, state, visits, width, *_ = columns
    return Frame(path, seq, next_, split_values(state), json.loads(visits) if visits else {}, width)


def _to_item(columns: Row) -> Item:
    path, visit, idx, status, data, value, error, *_ = columns
    return Item(path, visit, idx, ItemStatus(status), data, value, error)


def dump_visits(visits: Mapping[str, int]) -> str | None:
    """Counts as JSON; None if there are none."""
    return json.dumps(visits) if visits else None


def to_micros(seconds: float) -> int:
    """Microseconds since 1970 of a clock's seconds."""
    return round(seconds * 1_000_000)


def to_time(micros: int) -> datetime:
    """The UTC time of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
