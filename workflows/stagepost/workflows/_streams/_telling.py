"""Which parts there are for a reader who knows some of a run already: decided without reading anything."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

from pydantic_core import from_json, to_json

from stagepost.checkpoint import (
    Frame,
    FrozenList,
    Item,
    ItemStatus,
    JsonValue,
    RunStatus,
    Snapshot,
    StoredWait,
    Version,
    WaitStatus,
    read_frozen,
)

from .._ids import wait_id_of
from .._listening._saved import Saved, SavedItem
from .._listening._told import Told
from ._cursor import Cursor
from ._parts import (
    ItemOver,
    RunOver,
    RunPart,
    StateShown,
    StepSaved,
    StepTold,
    ToldMissed,
    WaitBegan,
    WaitOver,
)


class Telling:
    """What one reader has been told of a run.

    Args:
        run_id: The run.
        after: What the reader knows from before; None for nothing.

    Attributes:
        seq: Number of the last commit that the reader knows of; 0 for none.
        next: Where the run went on after it.
    """

    def __init__(self, run_id: str, after: Cursor | None) -> None:
        self._run_id = run_id
        self.seq = 0 if after is None else after.seq
        self.next: str | None = None
        self._waits: dict[tuple[str, datetime], WaitStatus] | None = None
        self._items: set[tuple[str, int, int]] = set()

    # commits

    def state(self, frame: Frame, state: Mapping[str, JsonValue], at: datetime) -> StateShown:
        """The state after a commit, and how many were made since the last one that was told."""
        skipped = frame.seq - self.seq - 1
        self._move(frame.seq, frame.next)
        return StateShown(**self._head(at), state=state, next=frame.next, skipped=skipped)

    def begun(self, saved: Saved) -> StateShown:
        """What the run begins with."""
        frame = Frame("", saved.seq, saved.next, saved.changed)
        lists = {key: FrozenList(map(read_frozen, parts)) for key, parts in saved.added.items()}
        state = {key: read_frozen(data) for key, data in saved.changed.items()}
        return self.state(frame, {**state, **lists}, datetime.fromtimestamp(saved.at, UTC))

    def saved(self, saved: Saved) -> StepSaved | None:
        """A commit that follows the last one that was told; None if it was told before."""
        if saved.seq <= self.seq:
            return None
        self._move(saved.seq, saved.next)
        return StepSaved(
            **self._head(datetime.fromtimestamp(saved.at, UTC)),
            step=saved.step or "",
            changed={key: read_frozen(data) for key, data in saved.changed.items()},
            added={key: tuple(map(read_frozen, parts)) for key, parts in saved.added.items()},
            next=saved.next,
            items=saved.width,
        )

    def _move(self, seq: int, place: str | None) -> None:
        """A commit is told; the items of a fan-out that it may have joined will not be heard of again."""
        self.seq, self.next = seq, place
        self._items.clear()

    def misses(self, saved: Saved) -> bool:
        """Whether there were commits before this one that were not told."""
        return saved.seq > self.seq + 1

    def ended(self, saved: SavedItem) -> ItemOver | None:
        """An item that has ended; None if it was told before."""
        item, name = saved.item, _name(saved.item)
        if name in self._items:
            return None
        self._items.add(name)
        return self._item(item, datetime.fromtimestamp(saved.at, UTC), saved.done, saved.total)

    # what is not stored

    def told(self, told: Told) -> StepTold:
        """What a step has told."""
        head = self._head(datetime.now(UTC))
        return StepTold(**{**head, "run_id": told.run_id}, place=told.place, what=told.what)

    def missed(self, count: int) -> ToldMissed:
        """So many that steps have told were dropped."""
        return ToldMissed(**self._head(datetime.now(UTC)), missed=count)

    # the rest of a snapshot

    def rest(self, snapshot: Snapshot) -> Iterator[RunPart]:
        """What has become of waits and items."""
        yield from self._waits_of(snapshot)
        yield from self._items_of(snapshot)

    def end(self, status: RunStatus, error: str | None, epoch: int, at: datetime | None = None) -> RunOver:
        """The run has ended."""
        head = self._head(at or datetime.now(UTC))
        return RunOver(**{**head, "cursor": str(Cursor(self.seq, epoch))}, status=status, error=error)

    def _waits_of(self, snapshot: Snapshot) -> Iterator[RunPart]:
        """Those that have begun or ended; for a new reader those that are open, or have ended since the last commit."""
        since = snapshot.saved_at.get("")
        known, self._waits = self._waits, {}
        for wait in sorted(snapshot.waits, key=attrgetter("opened_at", "place")):
            name, is_open = (wait.place, wait.opened_at), wait.status is WaitStatus.OPEN
            is_new = known is None and (is_open or since is None or (wait.ended_at or since) >= since)
            before = wait.status if known is None else known.get(name)
            if is_new or before is None:
                yield self._began(snapshot, wait)
            if not is_open and (is_new or before in (None, WaitStatus.OPEN)):
                yield self._over(snapshot, wait)
            self._waits[name] = wait.status

    def _began(self, snapshot: Snapshot, wait: StoredWait) -> WaitBegan:
        return WaitBegan(
            **self._head(wait.opened_at),
            wait_id=wait_id_of(snapshot.run.run_id, wait),
            place=wait.place,
            kind=wait.kind,
            name=wait.name,
            prompt=_json(wait.prompt),
            due_at=wait.due_at,
        )

    def _over(self, snapshot: Snapshot, wait: StoredWait) -> WaitOver:
        return WaitOver(
            **self._head(wait.ended_at or wait.opened_at),
            wait_id=wait_id_of(snapshot.run.run_id, wait),
            place=wait.place,
            status=wait.status,
            value=_json(wait.value),
            by=wait.by,
        )

    def _items_of(self, snapshot: Snapshot) -> Iterator[ItemOver]:
        for _, group in groupby(sorted(snapshot.items, key=_fan_out), key=_fan_out):
            items = list(group)
            ended = [item for item in items if item.status is not ItemStatus.WAITING]
            new = [item for item in ended if _name(item) not in self._items]
            self._items.update(map(_name, ended))
            for done, item in enumerate(sorted(new, key=partial(_at, snapshot)), 1 + len(ended) - len(new)):
                yield self._item(item, _at(snapshot, item), done, len(items))

    def _item(self, item: Item, at: datetime, done: int, total: int) -> ItemOver:
        return ItemOver(
            **self._head(at),
            path=item.path,
            index=item.idx,
            status=item.status,
            value=_json(item.value),
            error=item.error,
            done=done,
            total=total,
        )

    def _head(self, at: datetime) -> dict[str, Any]:
        return {"run_id": self._run_id, "timestamp": at, "seq": self.seq, "cursor": str(Cursor(self.seq))}


def between(before: Frame, version: Version, lists: Collection[str]) -> Saved:
    """The commit that has made a version of a root frame of the one before it.

    Args:
        before: The one before.
        version: The version.
        lists: Keys of lists that only grow.
    """
    frame = version.frame
    changed = {key: data for key, data in frame.state.items() if before.state.get(key) != data}
    added = {key: _added(before.state.get(key), changed.pop(key)) for key in changed.keys() & lists}
    return Saved(frame.seq, before.next, changed, added, frame.next, frame.width, version.saved_at.timestamp())


def _added(before: bytes | None, data: bytes) -> Sequence[bytes]:
    known = 0 if before is None else len(from_json(before))
    return tuple(to_json(each, inf_nan_mode="constants") for each in from_json(data)[known:])


def _json(data: bytes | None) -> JsonValue:
    return None if data is None else read_frozen(data)


def _fan_out(item: Item) -> tuple[str, int]:
    return item.path, item.visit


def _name(item: Item) -> tuple[str, int, int]:
    return item.path, item.visit, item.idx


def _at(snapshot: Snapshot, item: Item) -> datetime:
    return snapshot.saved_at.get(f"{item.path}[{item.idx}]") or datetime.now(UTC)
