"""What is still known of a run that keeps no history."""

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from stagepost.checkpoint import (
    AttemptOutcome,
    ChildRun,
    HappeningKind,
    Item,
    ItemStatus,
    Snapshot,
    StoredWait,
    WaitStatus,
    read_frozen,
)

from .._ids import place_of, split_place, wait_id_of
from ._entries import AttemptEntry, ChildEntry, FrameEntry, HistoryEntry, RunEntry, RunHistory, WaitEntry
from ._values import RecordedValue


def known_of(snapshot: Snapshot, children: Sequence[ChildRun], begin: int, limit: int) -> RunHistory:
    """A page of what is known of a run, by the times when it was stored.

    Args:
        snapshot: The run, without its lists.
        children: Runs that its steps have started.
        begin: How many entries to leave out.
        limit: At most so many.
    """
    run = snapshot.run
    entries = sorted((*_of_run(snapshot), *_waits(snapshot), *map(_child, children)), key=attrgetter("saved_at"))
    end = begin + limit
    return RunHistory(
        run_id=run.run_id,
        workflow=run.workflow,
        version=run.version,
        status=run.status,
        is_complete=False,
        items=tuple(entries[begin:end]),
        next=str(end) if len(entries) > end else None,
    )


def _of_run(snapshot: Snapshot) -> Iterator[HistoryEntry]:
    run = snapshot.run
    yield RunEntry(number=None, saved_at=run.created_at, what="began")
    for path, frame in snapshot.frames.items():
        saved_at = snapshot.saved_at.get(path, run.created_at)
        yield FrameEntry(number=None, saved_at=saved_at, path=path, next=frame.next)
    for item in snapshot.items:
        if item.status is not ItemStatus.WAITING:
            yield _item(snapshot, item)
    if run.finished_at is not None:
        yield RunEntry(number=None, saved_at=run.finished_at, what=run.status.value, error=run.error)


def _item(snapshot: Snapshot, item: Item) -> AttemptEntry:
    path = f"{item.path}[{item.idx}]"
    saved_at = snapshot.saved_at.get(path, snapshot.run.created_at)
    return AttemptEntry(
        number=None,
        saved_at=saved_at,
        kind=HappeningKind.ITEM,
        path=path,
        visits=split_place(place_of(path, (item.visit,)))[1],
        attempt=None,
        begun=None,
        ended=saved_at,
        outcome=AttemptOutcome(item.status.value),
        error=item.error,
        value=None if item.value is None else RecordedValue(item.value),
    )


def _waits(snapshot: Snapshot) -> Iterator[WaitEntry]:
    for wait in snapshot.waits:
        yield WaitEntry(**_asked(snapshot, wait), saved_at=wait.opened_at, status="open", shown=_json(wait.prompt))
        if wait.status is not WaitStatus.OPEN:
            ended = wait.ended_at or wait.opened_at
            yield WaitEntry(
                **_asked(snapshot, wait),
                saved_at=ended,
                status=wait.status.value,
                ended=ended,
                by=wait.by,
                answer=_json(wait.value),
            )


def _asked(snapshot: Snapshot, wait: StoredWait) -> dict[str, Any]:
    path, visits = split_place(wait.place)
    return {
        "number": None,
        "wait_id": wait_id_of(snapshot.run.run_id, wait),
        "path": path,
        "visits": visits,
        "kind": wait.kind,
        "name": wait.name,
        "asked": wait.opened_at,
        "due_at": wait.due_at,
    }


def _child(child: ChildRun) -> ChildEntry:
    path, visits = split_place(child.place)
    return ChildEntry(number=None, saved_at=child.created_at, path=path, visits=visits, child=child)


def _json(data: bytes | None) -> Any:
    return None if data is None else read_frozen(data)
