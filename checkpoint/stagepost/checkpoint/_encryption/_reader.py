"""Reading what is kept encrypted."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Protocol, Self, TypeVar, Unpack

from .._catalogue import Catalogue, Damage, Progress
from .._filters import CountBy, Counts, RunFilters
from .._happenings import Happenings
from .._outside import Ref
from .._pages import Page
from .._schedules import StoredSchedule
from .._snapshots import RunInfo, Snapshot, Version
from .._tables import Cell
from .._waiting import EffectBelow, Latest, OpenWait, SentSignal, WaitKind
from ..errors import ErrorsNotSearchable
from ._keys import Keys
from ._opening import Opening, opened_all
from ._sealing import Sealing

T = TypeVar("T")


class Readable(Catalogue, Protocol):
    """What can be read of a store: by the store itself, by `SqliteStore.reader` and by `SqliteStore.inbox`."""

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        """As of `Runs`."""
        ...

    async def head(self, run_id: str) -> Snapshot:
        """As of `Runs`."""
        ...

    async def head_with(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> tuple[Snapshot, Page[bytes]]:
        """As of `Runs`."""
        ...

    async def news(self, run_id: str, after: int) -> Latest:
        """As of `Runs`."""
        ...

    async def elements(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> Page[bytes]:
        """As of `Runs`."""
        ...

    async def blob(self, digest: str) -> bytes:
        """As of `Runs`."""
        ...

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        """As of `Tables`."""
        ...

    async def last_failures(self, run_id: str, *, path: str | None = None) -> int | None:
        """As of `Runs`."""
        ...

    async def effects_below(self, run_id: str, *, at: int | None = None) -> Sequence[EffectBelow]:
        """As of `Runs`."""
        ...

    async def schedule(self, key: str) -> StoredSchedule:
        """As of `Schedules`."""
        ...

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> Page[StoredSchedule]:
        """As of `Schedules`."""
        ...


ReadableT = TypeVar("ReadableT", bound=Readable)


class EncryptedReads(Generic[ReadableT]):
    """What all that reads encrypted values has in common.

    Args:
        inner: What keeps them.
        keys: The keys.
    """

    def __init__(self, inner: ReadableT, keys: Keys) -> None:
        self._inner = inner
        self._keys = keys
        self._sealing = Sealing(keys)
        self._opening = Opening(keys)

    @classmethod
    def _with(cls, inner: ReadableT, keys: Keys) -> Self:
        """One with keys that another one has."""
        made = cls.__new__(cls)
        EncryptedReads.__init__(made, inner, keys)
        return made

    @property
    def inner(self) -> ReadableT:
        """What keeps the values: it gives them as they are stored, encrypted."""
        return self._inner

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        """All that is stored of a run, or how it was at a number of its history."""
        return self._opening.snapshot(await self._inner.load(run_id, at=at))

    async def head(self, run_id: str) -> Snapshot:
        """The same without lists that have rows of their own."""
        return self._opening.snapshot(await self._inner.head(run_id))

    async def head_with(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> tuple[Snapshot, Page[bytes]]:
        """The same, and a page of one list."""
        head, page = await self._inner.head_with(run_id, path, key, after=after, limit=limit)
        return self._opening.snapshot(head), self._elements(run_id, page)

    async def news(self, run_id: str, after: int) -> Latest:
        """What was written for a run since its owner heard of it last."""
        return self._opening.latest(run_id, await self._inner.news(run_id, after))

    async def elements(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> Page[bytes]:
        """JSON of elements of a list."""
        return self._elements(run_id, await self._inner.elements(run_id, path, key, after=after, limit=limit))

    async def blob(self, digest: str) -> bytes:
        """Bytes that a run refers to, by their digest."""
        return self._opening.blob(digest, await self._inner.blob(digest))

    async def info(self, run_id: str) -> RunInfo:
        """What is known of a run without its state."""
        return self._opening.info(await self._inner.info(run_id))

    async def find(
        self,
        *,
        newest_first: bool = False,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
        **filters: Unpack[RunFilters],
    ) -> Page[RunInfo]:
        """Runs in the order in which they were started; not by words of their errors.

        Raises:
            ErrorsNotSearchable: `text` is given.
        """
        _check(filters)
        found = await self._inner.find(newest_first=newest_first, after=after, before=before, limit=limit, **filters)
        return self._infos(found)

    async def count(self, *, by: CountBy | None = None, **filters: Unpack[RunFilters]) -> Counts:
        """How many runs there are; not by words of their errors.

        Raises:
            ErrorsNotSearchable: `text` is given.
        """
        _check(filters)
        return await self._inner.count(by=by, **filters)

    async def stored(self, after: str | None = None, *, limit: int = 100) -> Page[RunInfo]:
        """Runs in the order in which they were stored."""
        return self._infos(await self._inner.stored(after, limit=limit))

    async def last_stored(self) -> str:
        """Where runs begin that are not stored yet."""
        return await self._inner.last_stored()

    async def waits(
        self,
        *,
        run_id: str | None = None,
        below: str | None = None,
        kind: WaitKind | None = None,
        after: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> Page[OpenWait]:
        """Open waits of open runs."""
        found = await self._inner.waits(run_id=run_id, below=below, kind=kind, after=after, before=before, limit=limit)
        return _page(self._opening.open_wait, found)

    async def signals(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[SentSignal]:
        """Signals that were sent to a run."""
        found = await self._inner.signals(run_id, after=after, limit=limit)
        return found._replace(items=tuple(self._opening.signal(run_id, signal) for signal in found.items))

    async def history(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Page[Version]:
        """Versions that the frames of a run had."""
        found = await self._inner.history(run_id, after=after, limit=limit)
        return found._replace(items=tuple(self._opening.version(run_id, version) for version in found.items))

    async def happenings(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Happenings:
        """What has happened to a run that keeps all."""
        return self._opening.happenings(await self._inner.happenings(run_id, after=after, limit=limit))

    async def value(self, run_id: str, path: str, ref: Ref, *, after: int = 0) -> bytes:
        """JSON of a value that has rows of its own."""
        data = await self._inner.value(run_id, path, ref, after=after)
        return self._opening.outside(run_id, data, is_list=ref.length is not None)

    async def last_failures(self, run_id: str, *, path: str | None = None) -> int | None:
        """Where in its history a run has joined a fan-out of which items had failed."""
        return await self._inner.last_failures(run_id, path=path)

    async def effects_below(self, run_id: str, *, at: int | None = None) -> Sequence[EffectBelow]:
        """Effects of the runs that the steps of a run have started."""
        return await self._inner.effects_below(run_id, at=at)

    async def schedule(self, key: str) -> StoredSchedule:
        """A schedule."""
        return self._opening.schedule(await self._inner.schedule(key))

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> Page[StoredSchedule]:
        """Schedules in the order of their keys."""
        found = await self._inner.schedules(after=after, limit=limit)
        opened, damaged = self._opening.schedules(found.items)
        return found._replace(items=opened, damaged=(*found.damaged, *damaged))

    async def verify(self, progress: Progress | None = None) -> Sequence[Damage]:
        """Read every run as it is stored, and tell what was found of those that are damaged; this needs no key."""
        return await self._inner.verify(progress)

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        """The rows of a SELECT: tables of the application are not encrypted, and the store's own are as they are."""
        return await self._inner.query(text, *values)

    def _infos(self, page: Page[RunInfo]) -> Page[RunInfo]:
        return _page(self._opening.info, page)

    def _elements(self, run_id: str, page: Page[bytes]) -> Page[bytes]:
        return page._replace(items=tuple(map(partial(self._opening.element, run_id), page.items)))


class EncryptedReader(EncryptedReads[Readable]):
    """Reads what an `EncryptedStore` keeps, from any process.

    ::

        async with SqliteStore.reader("runs.db") as file:
            snapshot = await EncryptedReader(file, keys=key).load("digest-42")

    Args:
        reader: What `SqliteStore.reader` gives, or another one.
        keys: One key, or several: each of them reads.
        plain: Whether values that are not encrypted are read as they are.

    Raises:
        ValueError: There is no key, or one does not have 16, 24 or 32 bytes.
        EncryptionNotInstalled: The extra ``encryption`` is missing.
    """

    def __init__(self, reader: Readable, *, keys: bytes | Sequence[bytes], plain: bool = False) -> None:
        super().__init__(reader, Keys(keys, plain=plain))


def _page(open_one: Callable[[T], T], page: Page[T]) -> Page[T]:
    opened, damaged = opened_all(open_one, page.items)
    return page._replace(items=tuple(opened), damaged=(*page.damaged, *damaged))


def _check(filters: RunFilters) -> None:
    if filters.get("text") is not None:
        raise ErrorsNotSearchable
