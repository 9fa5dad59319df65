"""What has become of a run between two looks at it: a pure function."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import ItemStatus, Snapshot, StoredWait, WaitKind, WaitStatus

from .._wire._watched import WatchEvent


@dataclass(frozen=True, slots=True)
class Look:
    """A run as it was seen.

    Attributes:
        snapshot: What is stored of it.
        children: Statuses of the runs that its steps have started, by their ids.
        wait_ids: Ids of its open waits, by the places of the steps that wait.
        at: When it was seen.
    """

    snapshot: Snapshot
    children: Mapping[str, str]
    wait_ids: Mapping[str, str]
    at: datetime


def changes(before: Look | None, now: Look) -> Iterator[WatchEvent]:
    """What is new: its waits that are over, where it is, items, runs below, new waits.

    Its status comes first if it was not known and the run is open; else last, since it may be the end.
    """
    status = _status(before, now)
    is_first = before is None and now.snapshot.run.status.is_open
    if is_first:
        yield from status
    yield from _waits(before, now, WaitStatus.ANSWERED, WaitStatus.EXPIRED)
    yield from _places(before, now)
    yield from _items(before, now)
    yield from _children(before, now)
    yield from _waits(before, now, WaitStatus.OPEN)
    if not is_first:
        yield from status


def _status(before: Look | None, now: Look) -> Iterator[WatchEvent]:
    run = now.snapshot.run
    if before is None or before.snapshot.run.status is not run.status:
        at = run.finished_at or now.at
        yield WatchEvent(event="status", at=at, run_id=run.run_id, status=run.status.value, error=run.error)


def _places(before: Look | None, now: Look) -> Iterator[WatchEvent]:
    run_id = now.snapshot.run.run_id
    for path, frame in sorted(now.snapshot.frames.items()):
        old = None if before is None else before.snapshot.frames.get(path)
        if frame.next is not None and (old is None or (old.next, old.visits) != (frame.next, frame.visits)):
            at = now.snapshot.saved_at.get(path, now.at)
            yield WatchEvent(event="at", at=at, run_id=run_id, place=frame.next)


def _items(before: Look | None, now: Look) -> Iterator[WatchEvent]:
    old = {} if before is None else _ended(before.snapshot)
    for path, (done, total) in sorted(_ended(now.snapshot).items()):
        if old.get(path) != (done, total):
            run_id = now.snapshot.run.run_id
            yield WatchEvent(event="item", at=now.at, run_id=run_id, place=path, done=done, total=total)


def _ended(snapshot: Snapshot) -> Mapping[str, tuple[int, int]]:
    """How many items of each fan-out have ended, and how many there are."""
    found: dict[str, tuple[int, int]] = {}
    for item in snapshot.items:
        done, total = found.get(item.path, (0, 0))
        found[item.path] = (done + (item.status is not ItemStatus.WAITING), total + 1)
    return found


def _children(before: Look | None, now: Look) -> Iterator[WatchEvent]:
    old = {} if before is None else before.children
    for run_id, status in sorted(now.children.items()):
        if old.get(run_id) != status:
            yield WatchEvent(event="child", at=now.at, run_id=run_id, status=status)


def _waits(before: Look | None, now: Look, *statuses: WaitStatus) -> Iterator[WatchEvent]:
    """Waits that have one of these statuses now, and had not; at the first look only the open ones are told."""
    known = {} if before is None else {_key(wait): wait.status for wait in before.snapshot.waits}
    for wait in now.snapshot.waits:
        is_told = wait.status in statuses and known.get(_key(wait)) is not wait.status
        if is_told and wait.kind is not WaitKind.CHILD and (before is not None or wait.status is WaitStatus.OPEN):
            yield _wait_event(wait, now)


def _wait_event(wait: StoredWait, now: Look) -> WatchEvent:
    is_open = wait.status is WaitStatus.OPEN
    return WatchEvent(
        event="wait" if is_open else "wait_over",
        at=(wait.opened_at if is_open else wait.ended_at) or now.at,
        run_id=now.snapshot.run.run_id,
        place=wait.place,
        wait_id=now.wait_ids.get(wait.place) if is_open else None,
        kind=wait.kind.value,
        name=wait.name,
        status=wait.status.value,
        by=wait.by,
    )


def _key(wait: StoredWait) -> tuple[str, str, datetime]:
    return wait.place, wait.name, wait.opened_at
