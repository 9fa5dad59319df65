"""Runs that are executed here, followed in memory: what a commit has changed need not be read from the store.

What the branches of a run have in memory changes only once the store has said that it is saved. So a run that is
executed here can be read from them: never more than is stored, and less only of commits whose word is on its way. The
store is read for the rest: what is known of the run and when it was saved, once; runs that nobody here executes; and
whatever a reader knows of that memory does not have yet.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from stagepost.checkpoint import Effect, Frame, Item, ItemStatus, Page, RunInfo, RunStatus, Snapshot, StoredWait

from ._source import Source


class Standing(Protocol):
    """A run that is executed here, as its root branch has it."""

    @property
    def epoch(self) -> int:
        """How often it was claimed."""
        ...

    @property
    def seq(self) -> int:
        """Number of the last version of its root frame."""
        ...

    def frame(self) -> Frame:
        """Its root frame, without the elements of lists."""
        ...

    def items(self) -> Sequence[Item]:
        """The items of the fan-out or fold where it stands."""
        ...

    def waits(self) -> Sequence[StoredWait]:
        """What it waits for, or has waited for."""
        ...

    def effects(self) -> Sequence[Effect]:
        """What its steps have noted."""
        ...

    def elements(self, key: str, after: int, limit: int) -> Sequence[Any] | None:
        """Elements of a list: as values of their type where these are known, else as JSON; None if only a store knows.

        A list that only grows is known.
        """
        ...


class Followed:
    """One run that is executed here.

    Args:
        standing: It.
        head: It as it was stored when it was read first.
        clock: Seconds since 1970.
    """

    def __init__(self, standing: Standing, head: Snapshot, clock: Callable[[], float]) -> None:
        self.standing = standing
        self._run = head.run
        self._clock = clock
        self._seq = head.root.seq
        ended = {"", *_ended(head.items)}
        self._saved_at: Mapping[str, datetime] = {name: at for name, at in head.saved_at.items() if name in ended}

    def snapshot(self) -> Snapshot:
        """It as it stands now; of its frames only that of the root, with the items of the fan-out or fold there."""
        standing = self.standing
        items = standing.items()
        self._note_times(items)
        frames = {"": standing.frame()}
        return Snapshot(self._run, frames, items, standing.waits(), standing.effects(), saved_at=self._saved_at)

    def _note_times(self, items: Sequence[Item]) -> None:
        """Note when something was saved that was not there when this was read last: just now, since that has rung."""
        before, now = self._saved_at, None
        if self.standing.seq > self._seq:
            self._seq = self.standing.seq
            now = self._now()
            before = self._saved_at = {"": now}
        ended = _ended(items)
        if any(name not in before for name in ended):
            self._saved_at = {**dict.fromkeys(ended, now or self._now()), **before}

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


class FollowedSource:
    """Reads runs from memory as far as they are executed here, otherwise from the store.

    Elements of lists come as values of their type where these are known in memory, otherwise as JSON. Of frames and
    items it has those that `Followed` has.

    Args:
        stored: Reads the store.
        find: The run with an id, if it is executed here.
        known: Those that were read before, for all who listen.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        stored: Source,
        find: Callable[[str], Standing | None],
        known: MutableMapping[str, Followed],
        clock: Callable[[], float],
    ) -> None:
        self._stored = stored
        self._find = find
        self._known = known
        self._clock = clock

    async def snapshot(self, run_id: str) -> Snapshot:
        """As of `Source`."""
        followed = await self._followed(run_id)
        return await self._stored.snapshot(run_id) if followed is None else followed.snapshot()

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[Any]:
        """As of `Source`."""
        followed = await self._followed(run_id)
        found = None if followed is None else followed.standing.elements(key, after, limit)
        return await self._stored.elements(run_id, key, after, limit) if found is None else Page(found)

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[Any]]:
        """As of `Source`."""
        followed = await self._followed(run_id)
        found = None if followed is None else followed.standing.elements(key, after, limit)
        if followed is None or found is None:
            return await self._stored.snapshot_with(run_id, key, after, limit)
        return followed.snapshot(), Page(found)

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        """As of `Source`."""
        return await self._stored.below(run_id)

    async def _followed(self, run_id: str) -> Followed | None:
        """A run that is executed here; None if it is not."""
        standing = self._find(run_id)
        if standing is None:
            return None
        known = self._known.get(run_id)
        return known if known is not None and known.standing is standing else await self._follow(run_id, standing)

    async def _follow(self, run_id: str, standing: Standing) -> Followed | None:
        """Begin to follow a run; None if it is no longer executed here."""
        head = await self._stored.snapshot(run_id)
        is_same = head.run.status is RunStatus.RUNNING and head.run.epoch == standing.epoch
        if not is_same or self._find(run_id) is not standing:
            return None
        known = self._known[run_id] = Followed(standing, head, self._clock)
        return known


def _ended(items: Sequence[Item]) -> Sequence[str]:
    """Names of the items that have ended, as `Snapshot.saved_at` has them."""
    return [f"{item.path}[{item.idx}]" for item in items if item.status is not ItemStatus.WAITING]
