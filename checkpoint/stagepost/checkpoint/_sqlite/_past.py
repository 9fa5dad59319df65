"""Reading what has happened to a run."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Final

from pydantic_core import to_json

from .._happening import HappeningKind
from .._happenings import ChildRun, Happened, Happenings, UnderWay
from .._outside import Ref
from .._plain import split_values
from .._records import Frame, RunStatus
from ..errors import CorruptRun, RunNotFound
from ._failure import split_failure
from ._queries import FRAME_COLUMNS, RUN_COLUMNS, Query, Row, as_bytes, union
from ._rows import json_of, making_sense, to_refs, to_run, to_time, to_visits

_BETWEEN: Final = "\x1e"  # char(30)
_PAGE: Final = """
WITH run AS (SELECT * FROM runs WHERE run_id = CAST(? AS TEXT)),
page AS MATERIALIZED (
  SELECT * FROM history WHERE rk = (SELECT rk FROM run) AND number > ? ORDER BY number LIMIT ?
)
"""
_BEFORE: Final = """
(SELECT number FROM history AS old WHERE old.rk = page.rk AND old.number < page.number AND old.path = page.path
ORDER BY number DESC LIMIT 1)
"""
_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "run": (RUN_COLUMNS, "run AS runs"),
    "happened": (
        f"number, kind, place, outcome, attempt, begun, ended, error, detail, value, epoch, saved_at, {FRAME_COLUMNS}",
        "page",
    ),
    "before": (
        "page.number, old.path, old.seq, old.next, old.state, old.visits, old.width, old.refs",
        f"page JOIN history AS old ON old.rk = page.rk AND old.number = {_BEFORE} WHERE page.seq > 1",
    ),
    "attempt": ("kind, place, attempt, begun", "attempts WHERE rk = (SELECT rk FROM run) AND outcome IS NULL"),
    "child": (
        "child.run_id, child.starter, child.workflow, child.status, child.error, child.created_at, child.finished_at",
        """run JOIN runs AS child ON child.run_id > run.run_id || '.' AND child.run_id < run.run_id || '/'
        WHERE child.starter IS NOT NULL AND instr(substr(child.run_id, length(run.run_id) + 2), '.') = 0
        AND (run.keep <> 'all' OR child.starter IN (SELECT place FROM page) OR child.starter IN (
          SELECT place FROM attempts WHERE rk = run.rk AND outcome IS NULL
        ))""",
    ),
}
_HAPPENED: Final = _PAGE + union(_PARTS)
_VALUE: Final = """
SELECT value FROM vals
WHERE rk = (SELECT rk FROM runs WHERE run_id = CAST(? AS TEXT)) AND path = CAST(? AS TEXT) AND number = ?
"""
_ELEMENTS: Final = """
WITH RECURSIVE parts (maker, number, stop) AS (
  SELECT iif(?2 = 0, (SELECT rk FROM runs WHERE run_id = CAST(?1 AS TEXT)), ?2), ?3, ?4
  UNION ALL
  SELECT base_maker, base_number, base_length
  FROM parts JOIN lists USING (maker, number) WHERE base_length > ?5
)
SELECT idx, value FROM parts JOIN elements USING (maker, number) WHERE idx >= ?5 AND idx < stop ORDER BY idx
"""


def happenings_query(run_id: str, after: int, limit: int) -> Query:
    """A page of what has happened to a run, with what is under way, in a single statement, and so as of one moment."""
    return Query(_HAPPENED, (as_bytes(run_id), after, limit))


def value_query(run_id: str, path: str, ref: Ref, after: int) -> Query:
    """A value that a frame refers to, or the elements of a list from one on."""
    if ref.length is None:
        return Query(_VALUE, (as_bytes(run_id), as_bytes(path), ref.number))
    return Query(_ELEMENTS, (as_bytes(run_id), ref.maker, ref.number, ref.length, after))


def to_value(run_id: str, ref: Ref, after: int, rows: Iterable[Row]) -> bytes | None:
    """The rows of `value_query`; None if there is no such value.

    Raises:
        CorruptRun: Elements are missing.
    """
    if ref.length is None:
        return next((json_of(value) for (value,) in rows), None)
    found: dict[int, bytes] = {idx: value for idx, value in rows}  # noqa: C416  # of what type they are
    if any(idx not in found for idx in range(after, ref.length)):
        raise CorruptRun(run_id, f"its list number {ref.number} lacks elements")
    return b"[" + b",".join(json_of(found[idx]) for idx in range(after, ref.length)) + b"]"


def to_happenings(run_id: str, rows: Iterable[Row], limit: int) -> Happenings:
    """The rows of `happenings_query`, which was asked for one more.

    Raises:
        RunNotFound: There are none.
        CorruptRun: They make no sense.
    """
    parts: dict[str, list[Row]] = {kind: [] for kind in _PARTS}
    with making_sense(run_id):
        for kind, *columns in rows:
            parts[kind].append(columns)
        if not parts["run"]:
            raise RunNotFound(run_id)
        before = {number: _to_frame(columns) for number, *columns in parts["before"]}
        found = sorted((_to_happened(columns, before) for columns in parts["happened"]), key=attrgetter("number"))
        return Happenings(
            to_run(parts["run"][0]),
            tuple(found[:limit]),
            str(found[limit - 1].number) if len(found) > limit else None,
            tuple(sorted(map(_to_under_way, parts["attempt"]), key=attrgetter("begun", "place"))),
            tuple(sorted(map(_to_child, parts["child"]), key=attrgetter("run_id"))),
        )


def _to_happened(columns: Row, before: Mapping[int, Frame]) -> Happened:
    number, kind, place, outcome, attempt, begun, ended, error, detail, value, epoch, saved_at, *frame = columns
    return Happened(
        number,
        HappeningKind(kind),
        place,
        outcome,
        attempt,
        _time(begun),
        _time(ended),
        error,
        None if detail is None else _wait(detail) if kind == HappeningKind.WAIT else bytes(detail),
        None if value is None else json_of(value),
        epoch,
        to_time(saved_at),
        None if frame[0] is None else _to_frame(frame),
        before.get(number),
    )


def _wait(detail: bytes) -> bytes:
    """What is known of a wait, as JSON."""
    kind, name, due_at, by = detail.decode().split(_BETWEEN, 3)
    due = to_time(int(due_at)).isoformat() if due_at else None
    return to_json({"kind": kind, "name": name, "due_at": due, "by": by or None})


def _to_frame(columns: Row) -> Frame:
    path, seq, next_, state, visits, width, refs, *_ = columns
    return Frame(path, seq, next_, split_values(state), to_visits(visits), width, to_refs(refs))


def _to_under_way(columns: Row) -> UnderWay:
    kind, place, attempt, begun, *_ = columns
    return UnderWay(HappeningKind(kind), place, attempt, to_time(begun))


def _to_child(columns: Row) -> ChildRun:
    run_id, place, workflow, status, error, created_at, finished_at, *_ = columns
    why = None if error is None else split_failure(error)[0]
    return ChildRun(run_id, place, workflow, RunStatus(status), why, to_time(created_at), _time(finished_at))


def _time(micros: int | None) -> datetime | None:
    return None if micros is None else to_time(micros)
