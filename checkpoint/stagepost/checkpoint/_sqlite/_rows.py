"""Rows to records and back."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar, cast

from pydantic_core import from_json

from .._codec import split_values
from .._records import Frame, Item, ItemStatus, Keep, Ref, RunInfo, RunStatus, Snapshot, Version
from .._waiting import Effect, EffectStatus, OpenWait, Wait, WaitKind, WaitStatus
from ..errors import CheckpointError, CorruptRun, RunNotFound

RUN_COLUMNS = (
    "run_id, workflow, version, status, key, input, error, cancelling, owner, epoch, attempts, "
    "created_at, finished_at, trace, keep"
)
WAIT_COLUMNS = "place, kind, name, prompt, due_at, waits.status, value, by, opened_at, ended_at"
SELECT_RUN = f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?"
_PARTS = {
    "shape": ("skeleton", "shapes WHERE id = (SELECT shape FROM run)"),
    "run": (RUN_COLUMNS, "run"),
    "frame": ("path, seq, next, state, visits, width, refs", "frames WHERE rk = (SELECT rk FROM run)"),
    "item": ("path, visit, idx, status, input, value, error", "items WHERE rk = (SELECT rk FROM run)"),
    "value": ("path, key, gen, idx, value", "vals WHERE rk = (SELECT rk FROM run)"),
    "wait": (WAIT_COLUMNS, "waits WHERE rk = (SELECT rk FROM run)"),
    "effect": ("place, key, status, value", "effects WHERE rk = (SELECT rk FROM run)"),
}
_WIDTH = max(columns.count(",") for columns, _ in _PARTS.values())


def _select(kind: str, columns: str, source: str) -> str:
    """One part of a snapshot, as wide as the widest one."""
    return f"SELECT '{kind}', {columns}{', NULL' * (_WIDTH - columns.count(','))} FROM {source}"


_SNAPSHOT = "WITH run AS (SELECT * FROM runs WHERE run_id = CAST(? AS TEXT)) " + " UNION ALL ".join(
    _select(kind, *part) for kind, part in _PARTS.items()
)

Row = Sequence[Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Query:
    """One statement and the values bound to it."""

    text: str
    values: tuple[str | int | bytes, ...]


def snapshot_query(run_id: str) -> Query:
    """All rows of one run in a single statement, and so as of one moment."""
    return Query(_SNAPSHOT, (_bytes(run_id),))


class Filters(NamedTuple):
    """Which runs are looked for; see `CheckpointStore.find`."""

    status: RunStatus | Collection[RunStatus] | None = None
    workflow: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def runs_query(chosen: Filters, after: str, limit: int) -> Query:
    """A page of runs in the order of their ids."""
    filters: list[str] = ["run_id > CAST(? AS TEXT)"]
    values: list[str | int | bytes] = [_bytes(after)]
    if chosen.status is not None:
        filters.append(_has_status(chosen.status))
    if chosen.workflow is not None:
        filters.append("workflow = ?")
        values.append(chosen.workflow)
    for sign, time in ((">=", chosen.since), ("<", chosen.until)):
        if time is not None:
            filters.append(f"created_at {sign} ?")
            values.append(to_micros(time.timestamp()))
    text = f"SELECT {RUN_COLUMNS} FROM runs WHERE {' AND '.join(filters)} ORDER BY run_id LIMIT ?"
    return Query(text, (*values, limit))


def _has_status(chosen: RunStatus | Collection[RunStatus]) -> str:
    """Members of the enum as constants, and one by equality: so the partial index serves."""
    each = [f"'{RunStatus(status).value}'" for status in ([chosen] if isinstance(chosen, str) else chosen)]
    return f"status = {each[0]}" if len(each) == 1 else f"status IN ({', '.join(each)})"


def ids_query(after: str, limit: int) -> Query:
    """A page of the ids of runs."""
    text = "SELECT run_id FROM runs WHERE run_id > CAST(? AS TEXT) ORDER BY run_id LIMIT ?"
    return Query(text, (_bytes(after), limit))


def history_query(run_id: str, after: int, limit: int) -> Query:
    """A page of the versions of one run."""
    text = """
    SELECT number, saved_at, path, seq, next, state, visits, width, NULL FROM history JOIN runs USING (rk)
    WHERE run_id = CAST(? AS TEXT) AND number > ? ORDER BY number LIMIT ?
    """
    return Query(text, (_bytes(run_id), after, limit))


def ended_query(before: int) -> Query:
    """Whether a run has ended before a time."""
    return Query("SELECT 1 FROM runs WHERE finished_at < ? LIMIT 1", (before,))


def waits_query(run_id: str | None, kind: WaitKind | None, after: str, limit: int) -> Query:
    """A page of open waits in the order of their runs and places."""
    filters: list[str] = [
        "waits.status = 'open'",
        "runs.status IN ('running', 'waiting')",
        "run_id || '/' || place > CAST(? AS TEXT)",
    ]
    values: list[str | int | bytes] = [_bytes(after)]
    if run_id is not None:
        filters.append("run_id = ?")
        values.append(run_id)
    if kind is not None:
        filters.append("kind = ?")
        values.append(WaitKind(kind).value)
    text = f"""
    SELECT run_id, workflow, version, {WAIT_COLUMNS} FROM waits JOIN runs USING (rk)
    WHERE {" AND ".join(filters)} ORDER BY run_id || '/' || place LIMIT ?
    """
    return Query(text, (*values, limit))


def as_text(data: bytes) -> str:
    """Text of any bytes: damaged text concerns its row only, while by default it would fail the whole query."""
    return data.decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    """The bytes that `as_text` made this of."""
    return text.encode(errors="surrogateescape")


def to_run(row: Row) -> RunInfo:
    """The columns of `RUN_COLUMNS`.

    Raises:
        CorruptRun: They make no sense.
    """
    with _making_sense(row[0]):
        return _to_run(row)


def _to_run(row: Row) -> RunInfo:
    run_id, workflow, version, status, key, data, error, cancelling, owner, epoch, attempts, *rest = row
    created, finished, trace, keep = rest
    for text in (run_id, workflow, key, error, owner):
        _ = text and text.encode()  # bytes that are no text are read as surrogates, which nothing else takes
    return RunInfo(
        run_id=run_id,
        workflow=workflow,
        version=version,
        status=RunStatus(status),
        key=key,
        input=_json(data),
        error=error,
        cancelling=bool(cancelling),
        owner=owner,
        epoch=epoch,
        attempts=attempts,
        created_at=to_time(created),
        finished_at=None if finished is None else to_time(finished),
        trace=trace,
        keep=Keep(keep),
    )


def to_snapshot(run_id: str, rows: Iterable[Row]) -> Snapshot:
    """The rows of `snapshot_query`.

    Raises:
        RunNotFound: There are none.
        CorruptRun: They make no sense.
    """
    with _making_sense(run_id):
        return _to_snapshot(run_id, rows)


def _to_snapshot(run_id: str, rows: Iterable[Row]) -> Snapshot:
    parts: dict[str, list[Row]] = {kind: [] for kind in _PARTS}
    for kind, *columns in rows:
        parts[kind].append(columns)
    if not parts["run"]:
        raise RunNotFound(run_id)
    outside = Outside(parts["value"])
    frames = {frame.path: frame for frame in [_to_frame(columns, outside) for columns in parts["frame"]]}
    if "" not in frames:
        raise ValueError("its first frame is gone")
    items = [_to_item(columns) for columns in parts["item"]]
    items.sort(key=lambda item: (item.path, item.visit, item.idx))
    return Snapshot(
        to_run(parts["run"][0]),
        frames,
        tuple(items),
        tuple(map(to_wait, parts["wait"])),
        tuple(map(_to_effect, parts["effect"])),
        parts["shape"][0][0] if parts["shape"] else None,
    )


class Outside:
    """The values of one run that have rows of their own."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[tuple[str, str, int], dict[int, bytes]] = {}
        for path, key, gen, idx, value, *_ in rows:
            self._rows.setdefault((path, key, gen), {})[idx] = value

    def get(self, path: str, key: str, ref: Ref) -> bytes:
        """JSON of a value, of a list from its elements."""
        found = self._rows.get((path, key, ref.gen), {})
        return _json(
            found[0] if ref.length is None else b"[" + b",".join(map(found.__getitem__, range(ref.length))) + b"]"
        )


def _to_frame(columns: Row, outside: Outside) -> Frame:
    path, seq, next_, state, visits, width, stored_refs, *_ = columns
    refs = {key: Ref(*ref) for key, ref in json.loads(stored_refs).items()} if stored_refs else {}
    values = {**split_values(state), **{key: outside.get(path, key, ref) for key, ref in refs.items()}}
    return Frame(path, seq, next_, values, _to_visits(visits), width, refs)


def _to_visits(stored: str | None) -> Mapping[str, int]:
    visits = {} if stored is None else json.loads(stored)
    if not all(isinstance(count, int) for count in visits.values()):
        raise ValueError("its visits are no numbers")
    return cast("Mapping[str, int]", visits)


def to_version(run_id: str, row: Row) -> Version:
    """The rows of `history_query`.

    Raises:
        CorruptRun: They make no sense.
    """
    number, saved_at, *frame = row
    with _making_sense(run_id):
        return Version(number, _to_frame(frame, Outside(())), to_time(saved_at))


def _to_item(columns: Row) -> Item:
    path, visit, idx, status, data, value, error, *_ = columns
    return Item(path, visit, idx, ItemStatus(status), _json(data), _json(value), error)


def to_wait(columns: Row) -> Wait:
    """The columns of `WAIT_COLUMNS`."""
    place, kind, name, prompt, due_at, status, value, by, opened_at, ended_at, *_ = columns
    return Wait(
        place=place,
        kind=WaitKind(kind),
        name=name,
        prompt=_json(prompt),
        due_at=None if due_at is None else to_time(due_at),
        status=WaitStatus(status),
        value=_json(value),
        by=by,
        opened_at=to_time(opened_at),
        ended_at=None if ended_at is None else to_time(ended_at),
    )


def to_open_wait(columns: Row) -> OpenWait:
    """The rows of `waits_query`.

    Raises:
        CorruptRun: They make no sense.
    """
    run_id, workflow, version, *wait = columns
    with _making_sense(run_id):
        return OpenWait(run_id, workflow, version, to_wait(wait))


def _to_effect(columns: Row) -> Effect:
    place, key, status, value, *_ = columns
    return Effect(place, key, EffectStatus(status), _json(value))


_Json = TypeVar("_Json", bytes, bytes | None)


def _json(data: _Json) -> _Json:
    """Bytes that were stored as JSON, and still are."""
    if data is not None:
        from_json(data)
    return data


@contextmanager
def _making_sense(run_id: str) -> Iterator[None]:
    """Whatever goes wrong inside is because the rows of a run are not what was written."""
    try:
        yield
    except CheckpointError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise CorruptRun(run_id, f"{type(error).__name__}: {error}") from error


def dump_refs(refs: Mapping[str, Ref]) -> str | None:
    """Where values live, as JSON; None if all are in the frame."""
    return json.dumps(refs) if refs else None


def dump_visits(visits: Mapping[str, int]) -> str | None:
    """Counts as JSON; None if there are none."""
    return json.dumps(visits) if visits else None


def to_micros(seconds: float) -> int:
    """Microseconds since 1970 of a clock's seconds."""
    return round(seconds * 1_000_000)


def to_time(micros: int) -> datetime:
    """The UTC time of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
