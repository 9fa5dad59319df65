"""Rows to records and back."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from types import MappingProxyType
from typing import Final, TypeVar, cast

from pydantic_core import from_json, to_json

from .._outside import Ref
from .._plain import split_values
from .._records import Frame, Item, ItemStatus, Keep, RunStatus
from .._snapshots import RunInfo, Snapshot, Version
from .._waiting import Effect, EffectStatus, Latest, OpenWait, SentSignal, StoredWait, WaitKind, WaitStatus
from ..errors import CheckpointError, CorruptRun, RunNotFound
from ._failure import split_failure
from ._queries import HISTORY_PARTS, SNAPSHOT_PARTS, Row, snapshot_query

_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LAST: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)  # what is later is no time


def to_run(row: Row) -> RunInfo:
    """The columns of `RUN_COLUMNS`.

    Raises:
        CorruptRun: They make no sense.
    """
    with making_sense(row[0]):
        return _to_run(row)


def _to_run(row: Row) -> RunInfo:
    run_id, workflow, version, status, key, data, error, cancelling, owner, epoch, attempts, *rest = row
    created, finished, trace, keep, news, heard, blocked, shape, forked_from, forked_at, labels = rest
    for text in (run_id, workflow, key, error, blocked, forked_from, labels):
        _ = text and text.encode()  # bytes that are no text are read as surrogates, which nothing else takes
    why, traceback = (None, None) if error is None else split_failure(error)
    return RunInfo(
        run_id=run_id,
        workflow=workflow,
        version=version,
        status=RunStatus(status),
        key=key,
        input=json_of(data),
        error=why,
        cancelling=bool(cancelling),
        owner=owner,
        epoch=epoch,
        attempts=attempts,
        created_at=to_time(created),
        finished_at=None if finished is None else to_time(finished),
        trace=trace,
        keep=Keep(keep),
        traceback=traceback,
        news=news,
        heard=heard,
        blocked=blocked,
        shape=shape,
        labels=_NONE if labels == "{}" else json.loads(labels),
        forked_from=forked_from,
        forked_at=forked_at,
    )


def odd_run(row: Row) -> CorruptRun:
    """What the rows of `ODD_RUNS` say."""
    run_id, status, is_without_end = row
    if status == RunStatus.WAITING:
        why = "and nothing that it waits for is open"
    else:
        why = "without the time of its end" if is_without_end else "and has the time of an end"
    return CorruptRun(run_id, f"somebody has changed it by hand: it is {status} {why}")


def to_snapshot(run_id: str, rows: Iterable[Row], *, lists: bool = True) -> Snapshot:
    """The rows of `snapshot_query`, or of `head_query`.

    Args:
        run_id: The run.
        rows: They.
        lists: Whether the elements of lists are among them.

    Raises:
        RunNotFound: There are none.
        CorruptRun: They make no sense.
    """
    with making_sense(run_id):
        return _to_snapshot(run_id, rows, lists=lists)


def _to_snapshot(run_id: str, rows: Iterable[Row], *, lists: bool) -> Snapshot:
    parts: dict[str, list[Row]] = {kind: [] for kind in SNAPSHOT_PARTS}
    for kind, *columns in rows:
        parts[kind].append(columns)
    if not parts["run"]:
        raise RunNotFound(run_id)
    outside = Outside(parts["value"], parts["element"])
    frames = {frame.path: frame for frame in [to_frame(columns, outside, lists=lists) for columns in parts["frame"]]}
    saved_at = {frame[0]: to_time(frame[7]) for frame in parts["frame"]}
    saved_at |= {f"{item[0]}[{item[2]}]": to_time(item[7]) for item in parts["item"]}
    if "" not in frames:
        raise ValueError("its first frame is gone")
    items = [to_item(columns) for columns in parts["item"]]
    items.sort(key=lambda item: (item.path, item.visit, item.idx))
    return Snapshot(
        to_run(parts["run"][0]),
        frames,
        tuple(items),
        tuple(map(to_wait, parts["wait"])),
        tuple(map(to_effect, parts["effect"])),
        parts["shape"][0][0] if parts["shape"] else None,
        parts["number"][0][0],
        saved_at,
        parts["number"][0][1],
    )


def suspects(connection: sqlite3.Connection, run_ids: Iterable[str]) -> list[str]:
    """Those of some runs that cannot be read, for whatever reason."""
    return [run_id for run_id in run_ids if not _is_readable(connection, run_id)]


def _is_readable(connection: sqlite3.Connection, run_id: str) -> bool:
    query = snapshot_query(run_id)
    try:
        to_snapshot(run_id, connection.execute(query.text, query.values).fetchall())
    except (CheckpointError, sqlite3.Error):
        return False
    return True


class Outside:
    """The values of one run that have rows of their own.

    Args:
        values: Number and JSON of each.
        elements: Maker and number of the list, index and JSON of each.
    """

    def __init__(self, values: Iterable[Row], elements: Iterable[Row]) -> None:
        self._values: dict[int, bytes] = {number: value for number, value, *_ in values}
        self._lists: dict[tuple[int, int], dict[int, bytes]] = {}
        for maker, number, idx, value, *_ in elements:
            self._lists.setdefault((maker, number), {})[idx] = value

    def get(self, ref: Ref) -> bytes:
        """JSON of a value, of a list from its elements."""
        if ref.length is None:
            return json_of(self._values[ref.number])
        found = self._lists[ref.maker, ref.number] if ref.length else {}
        return json_of(b"[" + b",".join(map(found.__getitem__, range(ref.length))) + b"]")


def to_frame(columns: Row, outside: Outside, *, lists: bool = True) -> Frame:
    """The columns of `FRAME_COLUMNS`.

    Args:
        columns: They.
        outside: Values that have rows of their own.
        lists: Whether lists are among these.
    """
    path, seq, next_, state, visits, width, stored_refs, *_ = columns
    refs = to_refs(stored_refs)
    read = refs if lists else {key: ref for key, ref in refs.items() if ref.length is None}
    values = {**split_values(state), **{key: outside.get(ref) for key, ref in read.items()}}
    return Frame(path, seq, next_, values, to_visits(visits), width, refs)


def to_refs(stored: str | None) -> dict[str, Ref]:
    """What `dump_refs` has made."""
    return {key: Ref(*ref) for key, ref in json.loads(stored).items()} if stored else {}


def to_visits(stored: str | None) -> Mapping[str, int]:
    visits = {} if stored is None else json.loads(stored)
    if not all(isinstance(count, int) for count in visits.values()):
        raise ValueError("its visits are no numbers")
    return cast("Mapping[str, int]", visits)


def to_history(run_id: str, rows: Iterable[Row]) -> Sequence[Version]:
    """The rows of `history_query`.

    Raises:
        RunNotFound: There are none.
        CorruptRun: They make no sense.
    """
    parts: dict[str, list[Row]] = {kind: [] for kind in HISTORY_PARTS}
    with making_sense(run_id):
        for kind, *columns in rows:
            parts[kind].append(columns)
        if not parts["run"]:
            raise RunNotFound(run_id)
        outside = Outside(parts["value"], parts["element"])
        versions = [_to_version(columns, outside) for columns in parts["version"]]
        return tuple(sorted(versions, key=attrgetter("number")))


def _to_version(columns: Row, outside: Outside) -> Version:
    *frame, number, epoch, saved_at = columns
    return Version(number, to_frame(frame, outside), to_time(saved_at), epoch)


def to_item(columns: Row) -> Item:
    """The columns of an item."""
    path, visit, idx, status, data, value, error, *_ = columns
    return Item(path, visit, idx, ItemStatus(status), json_of(data), json_of(value), error)


def to_wait(columns: Row) -> StoredWait:
    """The columns of `WAIT_COLUMNS`."""
    place, kind, name, prompt, due_at, status, value, by, opened_at, ended_at, checked, refused, *_ = columns
    return StoredWait(
        place=place,
        kind=WaitKind(kind),
        name=name,
        prompt=json_of(prompt),
        due_at=None if due_at is None else to_time(due_at),
        status=WaitStatus(status),
        value=json_of(value),
        by=by,
        opened_at=to_time(opened_at),
        ended_at=None if ended_at is None else to_time(ended_at),
        checked=bool(checked),
        refused=refused,
    )


def to_latest(run_id: str, rows: Sequence[Row]) -> Latest:
    """The rows of `latest_query`.

    Raises:
        CorruptRun: They make no sense.
    """
    with making_sense(run_id):
        return Latest([to_wait(columns) for _, *columns in rows if columns[0] is not None], rows[0][0])


def to_open_wait(columns: Row) -> OpenWait:
    """The rows of `waits_query`.

    Raises:
        CorruptRun: They make no sense.
    """
    name, run_id, workflow, version, blocked, *columns_of_wait = columns
    with making_sense(run_id):
        wait = to_wait(columns_of_wait)
        if name != f"{run_id}/{wait.place}":  # whoever pages on would start from somewhere else
            raise ValueError(f"the wait {wait.place!r} is stored as {name!r}")
        return OpenWait(run_id, workflow, version, wait, blocked)


def to_signal(run_id: str, row: Row) -> SentSignal:
    """The rows of `signals_query`.

    Raises:
        CorruptRun: They make no sense.
    """
    number, name, value, checked = row
    with making_sense(run_id):
        return SentSignal(number, name, json_of(value), bool(checked))


def to_effect(columns: Row) -> Effect:
    """The columns of an effect."""
    place, key, status, value, number, note, *_ = columns
    return Effect(place, key, EffectStatus(status), json_of(value), number, bool(note))


_Json = TypeVar("_Json", bytes, bytes | None)


def json_of(data: _Json) -> _Json:
    """Bytes that were stored as JSON, and still are."""
    if data is not None:
        from_json(data)
    return data


@contextmanager
def making_sense(run_id: str) -> Iterator[None]:
    """Whatever goes wrong inside is because the rows of a run are not what was written."""
    try:
        yield
    except CheckpointError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise CorruptRun(run_id, f"{type(error).__name__}: {error}") from error


def dump_refs(refs: Mapping[str, Ref]) -> str | None:
    """Where values live, as JSON; None if all are in the frame."""
    return to_json(refs).decode() if refs else None


def dump_visits(visits: Mapping[str, int]) -> str | None:
    """Counts as JSON; None if there are none."""
    return to_json(visits).decode() if visits else None


def to_micros(seconds: float) -> int:
    """A clock's seconds as the tables keep them: microseconds since 1970."""
    return round(seconds * 1_000_000)


def to_time(micros: int) -> datetime:
    """The UTC time of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
