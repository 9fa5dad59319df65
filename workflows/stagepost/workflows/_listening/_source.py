"""Where whoever listens to a run reads what is stored of it."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeVar, cast

from stagepost.checkpoint import Catalogue, Page, RunInfo, Runs, Snapshot

from .._bell import Bell

T = TypeVar("T")

_PAGES_KEPT: Final = 32  # of lists; so many reads of them are shared at once


class Source(Protocol):
    """A run as it is stored, or as it stands in memory, and the runs that its steps have started."""

    async def snapshot(self, run_id: str) -> Snapshot:
        """All of a run but the elements of its lists; see `CheckpointStore.head`.

        Raises:
            RunNotFound: There is none.
        """
        ...

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[bytes]:
        """JSON of the elements of a list of a run, in their order.

        Args:
            run_id: The run.
            key: Key of the list in its state.
            after: How many elements to leave out.
            limit: At most so many.

        Raises:
            RunNotFound: There is no such run.
        """
        ...

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[bytes]]:
        """A snapshot and a page of a list in one read; the page may have elements that the snapshot does not know of.

        Raises:
            RunNotFound: There is no such run.
        """
        ...

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        """The runs that steps of a run have started, without those that steps of these have, by their ids."""
        ...


class ReadSource(Protocol):
    """A source whose elements may have been read already; see `Source`."""

    async def snapshot(self, run_id: str) -> Snapshot:
        """All of a run but the elements of its lists."""
        ...

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[Any]:
        """Elements of a list of a run, as JSON or as values of their type."""
        ...

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[Any]]:
        """A snapshot and a page of a list in one read."""
        ...

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        """The runs that steps of a run have started."""
        ...


class Readable(Runs, Catalogue, Protocol):
    """As much of a store as a source reads."""


class StoredSource:
    """Reads from a store; who reads the same between two rings shares one read.

    Args:
        store: The store.
        memo: What has been read since the last ring.
    """

    def __init__(self, store: Readable, memo: dict[object, object]) -> None:
        self._store = store
        self._memo = memo
        self._pages: deque[object] = deque()

    async def snapshot(self, run_id: str) -> Snapshot:
        """As of `Source`."""
        return await shared(self._memo, (Source, "snapshot", run_id), lambda: self._store.head(run_id))

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[bytes]:
        """As of `Source`."""
        name = self._page(Source, "elements", run_id, key, after, limit)
        return await shared(self._memo, name, lambda: self._store.elements(run_id, "", key, after=after, limit=limit))

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[bytes]]:
        """As of `Source`."""
        name = self._page(Source, "snapshot_with", run_id, key, after, limit)
        return await shared(self._memo, name, lambda: self._store.head_with(run_id, "", key, after=after, limit=limit))

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        """As of `Source`."""
        return await shared(self._memo, (Source, "below", run_id), lambda: self._find(run_id))

    def _page(self, *name: object) -> object:
        """The name of a page of a list; of too many the oldest is forgotten."""
        self._pages.append(name)
        if len(self._pages) > _PAGES_KEPT and (oldest := self._pages.popleft()) not in self._pages:
            self._memo.pop(oldest, None)
        return name

    async def _find(self, run_id: str) -> Sequence[RunInfo]:
        found, after, depth = list[RunInfo](), None, run_id.count(".") + 1
        while True:
            page = await self._store.find(below=run_id, after=after)
            found += [info for info in page.items if info.run_id.count(".") == depth]
            if (after := page.next) is None:
                return tuple(found)


class _Reading:
    """A read under way that others wait for.

    Attributes:
        ended: Rings when it has ended.
        result: What was read, once that is so.
    """

    def __init__(self) -> None:
        self.ended = Bell()
        self.result: list[Any] = []


async def shared(memo: dict[object, object], key: object, read: Callable[[], Awaitable[T]]) -> T:
    """What a function reads; whoever asks for the same key meanwhile, or later, gets the same.

    One that fails or is cancelled is forgotten, and whoever waited for it reads for himself.

    Args:
        memo: Where it is kept; to be cleared when something else may be read now.
        key: What is read.
        read: Reads it.
    """
    while (reading := cast("_Reading | None", memo.get(key))) is not None:
        if not reading.result:  # a thousand listeners need not wait for what is there
            await reading.ended.wait()
        if reading.result:
            return cast("T", reading.result[0])
    reading = memo[key] = _Reading()
    try:
        result = await read()
        reading.result.append(result)
    finally:
        if not reading.result and memo.get(key) is reading:
            del memo[key]
        reading.ended.ring()
    return result
