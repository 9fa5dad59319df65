"""The store on an SQLite file."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self, TypeVar

import anyio

from .._feed import Feed
from .._limits import DEFAULT, Limits
from .._ownership import Owner
from ..errors import NotAStore, StoreClosed, StoreError, StoreLocked
from ._aside import Aside
from ._batch import run_batch
from ._connect import Durability, connector, read_only
from ._faults import ANOTHER_PROGRAM
from ._generation import refused, resolve
from ._inbox import Closed
from ._inbox_store import SqliteInbox, open_inbox
from ._lock import Beside, FileLock, lock_of, name_in
from ._owners import changes
from ._queries import Query, Row
from ._reader import Reader, open_reader
from ._runs import SqlRuns
from ._schema import SCHEMA, Schema
from ._store_reader import StoreReader, check_backend, open_store_reader
from ._thread import Listener, RunBatch
from ._writer import Writer

T = TypeVar("T")


class SqliteStore(Aside, SqlRuns):
    """Keeps runs in one SQLite file, owned by one process at a time.

    Beside the file stand its WAL and a lock file. Commits of concurrent runs share transactions and fsyncs.

    Args:
        path: The file; made if missing, with mode 0600. Its folder must exist.
        durability: ``"power"`` loses no acknowledged commit in a power cut (one fsync per group of commits);
            ``"process"`` survives SIGKILL, but a power cut may lose the last commits.
        lock_timeout: Seconds to wait for another process to let go of the file.
        take_over: Do not wait for another process that owns the file, but fence it: for one that is stopped and will
            not go on. If it does go on, all that it tries to write is refused with `StoreTakenOver`. While it lives,
            the WAL grows and is not copied into the file.
        max_value: The most bytes of JSON that a value may have, or of a list that only grows one element; more is
            refused with `ValueTooLarge`. None for no limit.
        warn_value: Of values with more bytes than this observers are told; None for never.
        max_blob: The most bytes that are kept beside the JSON under one digest; more is refused with `BlobTooLarge`.
            None for no limit.
        clock: Seconds since 1970, for the times that runs carry.
        run_batch: How a batch of requests becomes a transaction; tests inject faults here.

    Raises:
        StoreLocked: Another process owns the file (on entering); with `take_over` only if it is stopped in the middle
            of a commit, so that nobody can write before it is ended.
        StoreNotWritable: The file or its folder refuses (on entering).
        NotAStore: The file is something else (on entering).
        SqliteTooOld: SQLite is older than 3.37 (on entering).
        SqliteWithoutFts5: SQLite was built without FTS5 (on entering).
        BackendNotSupported: The loop is not asyncio's (on entering).
    """

    _schema: ClassVar[Schema] = SCHEMA

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        durability: Durability = "power",
        lock_timeout: float = 10.0,
        take_over: bool = False,
        max_value: int | None = DEFAULT.refuse,
        warn_value: int | None = DEFAULT.warn,
        max_blob: int | None = DEFAULT.blob,
        clock: Callable[[], float] = time.time,
        run_batch: RunBatch = run_batch,
    ) -> None:
        super().__init__(clock, Limits(max_value, warn_value, max_blob), str(path))
        self.path = Path(path)
        self._durability: Durability = durability
        self._lock_timeout = lock_timeout
        self._take_over = take_over
        self._run_batch = run_batch
        self._place = resolve(path)  # again on entering
        self._writer: Writer | None = None
        self._reader: Reader | None = None
        self._stack = AsyncExitStack()

    @classmethod
    def reader(cls, path: str | PathLike[str]) -> AbstractAsyncContextManager[StoreReader]:
        """Read the runs of a file without owning it: from any process, whether its owner lives, was killed or is none.

        ::

            async with SqliteStore.reader("runs.db") as reader:
                snapshot = await reader.load("digest-42")

        Raises:
            StoreNotReadable: There is no such file, or it or its folder refuses (on entering).
            NotAStore: The file is something else (on entering).
            SqliteTooOld: SQLite is older than 3.37 (on entering).
        SqliteWithoutFts5: SQLite was built without FTS5 (on entering).
            BackendNotSupported: The loop is not asyncio's (on entering).
        """
        return open_store_reader(Path(path), cls._schema)

    @classmethod
    def inbox(
        cls,
        path: str | PathLike[str],
        *,
        max_value: int | None = DEFAULT.refuse,
        warn_value: int | None = DEFAULT.warn,
        max_blob: int | None = DEFAULT.blob,
        clock: Callable[[], float] = time.time,
    ) -> AbstractAsyncContextManager[SqliteInbox]:
        """Read the runs of a file and write for them beside its owner: from any process, whether an owner lives or not.

        What is written is answers, signals, words about effects, and cancellations; it survives what the owner's
        commits survive. The owner hears of it within a fraction of a second, or when there is one again.
        ::

            async with SqliteStore.inbox("runs.db") as inbox:
                await inbox.answer("digest-42", "approval", b"true", by="Ada")

        Args:
            path: The file; it is not made.
            max_value: The most bytes of JSON that a value may have. None for no limit.
            warn_value: Of values with more bytes than this observers are told; None for never.
            max_blob: The most bytes that are kept beside the JSON under one digest. None for no limit.
            clock: Seconds since 1970, for the times that waits carry.

        Raises:
            StoreNotReadable: There is no such file, or it or its folder refuses (on entering).
            NotAStore: The file is something else (on entering).
            SqliteTooOld: SQLite is older than 3.37 (on entering).
        SqliteWithoutFts5: SQLite was built without FTS5 (on entering).
            BackendNotSupported: The loop is not asyncio's (on entering).
            StoreLocked: Somebody writes to the file, and did not let go within 5 s (on writing).
            StoreLost: The file was deleted, moved or replaced since (on writing and reading).
            StoreNotWritable: The file or its folder refuses (on writing).
        """
        return open_inbox(Path(path), clock, Limits(max_value, warn_value, max_blob), cls._schema)

    async def __aenter__(self) -> Self:
        check_backend()
        if str(self.path) == ":memory:" or ":/" in str(self.path):
            raise NotAStore(self.path, "a path is wanted, no address: give a file; MemoryStore() keeps runs in memory")
        async with AsyncExitStack() as stack:
            lock = await stack.enter_async_context(self._locked())
            self._sink = self._writer = await stack.enter_async_context(self._writing(lock))
            path, name = self._place
            self._reader = await stack.enter_async_context(open_reader(read_only(path), path, name))
            self._reader.watch_beside()
            stack.callback(self._forget)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._stack.aclose()

    async def failure(self) -> StoreError:
        """Wait until the store takes nothing more, for good, and say why."""
        return StoreClosed(str(self.path)) if self._writer is None else await self._writer.failure()

    async def _listen(self, owner: Owner, feed: Feed) -> None:
        if self._writer is None:
            raise StoreClosed(str(self.path))
        await self._writer.listen(Listener(partial(changes, owner=owner.id), feed.put))

    def _stop_listening(self, feed: Feed) -> None:  # noqa: ARG002  # there is one owner, and one feed
        if self._writer is not None:
            self._writer.stop_listening()

    def _file(self) -> tuple[Path, Path]:
        return self._place

    async def _read(self, query: Query) -> Sequence[Row]:
        return await self._open_reader().fetch(query)

    async def _read_each(self, queries: Sequence[Query]) -> Sequence[Sequence[Row]]:
        return await self._open_reader().fetch_each(queries)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[FileLock]:
        self._place = path, _ = resolve(self.path)
        lock = FileLock(lock_of(path))
        if self._take_over:
            lock.try_acquire()  # if somebody holds it, it is taken when nobody can write
        else:
            await lock.acquire(self._lock_timeout, path)
        try:
            yield lock
        finally:
            lock.release()

    @asynccontextmanager
    async def _writing(self, lock: FileLock) -> AsyncIterator[Writer]:
        path, name = self._place
        beside = Beside(path)
        writer = Writer(
            path,
            connector(path, self._durability, partial(lock.confirm, path), name=name, schema=self._schema),
            run_batch=self._run_batch,
            may_checkpoint=lambda connection: lock.is_alone() and not refused(connection),
            holder=lambda: beside.holder() or ANOTHER_PROGRAM,
            give_way=beside.give_way,
        )
        try:
            await writer.start()
            yield writer
        except StoreLocked as error:
            holder = beside.holder()
            if holder is not None:
                raise StoreLocked(path, holder, error.waited, is_writing=True) from error
            if lock.is_held:
                raise
            owner = f"{name_in(lock.path)} (stopped in the middle of a commit)"
            raise StoreLocked(path, owner, error.waited) from error
        finally:
            await writer.close()
            beside.close()

    def _forget(self) -> None:
        self._end_feeds()
        self._writer = self._reader = None
        self._sink = Closed(str(self.path))

    def _open_reader(self) -> Reader:
        if self._reader is None:
            raise StoreClosed(str(self.path))
        return self._reader
