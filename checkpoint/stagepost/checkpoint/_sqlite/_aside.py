"""What takes long and so has a connection of its own, lest anybody wait for it: backups, and a look at everything."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from os import PathLike
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

import anyio
from anyio import from_thread, to_thread

from .._catalogue import Damage, Progress
from ._backup import back_up, check_target
from ._connect import read_only
from ._generation import resolve
from ._queries import Query, Row
from ._reader import Reader, connect_reading, open_reader
from ._reading import Reading
from ._verifying import Verifying

T = TypeVar("T")
_HERE = Query("SELECT 1 FROM meta", ())
_DATA_VERSION = Query("PRAGMA data_version", ())


class Aside(Reading):
    """A store in a file, of which there can be more connections; what is missing is where the file is."""

    @abstractmethod
    def _file(self) -> tuple[Path, Path]:
        """The file without symbolic links, and the absolute path that it was asked for by."""

    async def data_version(self) -> int:
        """A number that changes with each commit to the file: as long as it is the same, nothing has to be read again.

        Only numbers of one opening of the file can be compared.

        Raises:
            StoreLost: The file was deleted, moved or replaced.
        """
        ((version,),) = await self._read(_DATA_VERSION)
        return int(version)

    async def backup(
        self, path: str | PathLike[str], progress: Progress | None = None, *, overwrite: bool = False
    ) -> None:
        """Copy the store as it is now to another file, while everybody goes on.

        The copy has all that was acknowledged before the call, and every run is in it as one of its commits has left
        it. It is a store like this one: open it, or put it in the place of this one to go back to it. It is on the disk
        and whole when it gets its name; until then it is called ``<path>.partial``. If the call is cancelled, or fails,
        nothing is left.

        No commit waits. But until the end the WAL is not emptied, and so grows by what is committed meanwhile.

        Args:
            path: The copy; its folder exists.
            progress: Awaited after each megabyte with the bytes that were copied, and how many there are.
            overwrite: Whether to replace a file that is there.

        Raises:
            BackupExists: The file exists.
            BackupFailed: It cannot be made: the disk is full, or the folder refuses.
            StoreLost: The store's file was deleted, moved or replaced.
        """
        target, _ = resolve(path)
        await self._read(_HERE)  # whoever has lost the file copies no other one
        source, name = self._file()
        check_target(target, overwrite=overwrite)
        connect = partial(connect_reading, read_only(source), source, name)
        work = partial(back_up, connect, target, partial(_tell, progress), overwrite=overwrite)
        await to_thread.run_sync(work, limiter=anyio.CapacityLimiter(1))

    async def verify(self, progress: Progress | None = None) -> Sequence[Damage]:
        """Read every run, and tell what was found of those that are damaged, or that somebody has changed by hand."""
        await self._read(_HERE)
        async with _apart(*self._file()) as reading:
            return await reading.verify(progress)


class _Apart(Verifying):
    """Reads by a connection of its own."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def _read(self, query: Query) -> Sequence[Row]:
        return await self._reader.fetch(query)

    async def _examine(self, look: Callable[[Connection], T]) -> T:
        return await self._reader.run(look)


@asynccontextmanager
async def _apart(path: Path, name: Path) -> AsyncIterator[_Apart]:
    async with open_reader(read_only(path), path, name) as reader:
        reader.watch_beside()
        try:
            yield _Apart(reader)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await reader.interrupt()  # else whoever cancels it waits for the end of a long query
            raise


def _tell(progress: Progress | None, done: int, total: int) -> None:
    """In the thread: end if whoever waits was cancelled, and tell how far it is."""

    async def told() -> None:
        if progress is not None:
            await progress(done, total)

    try:
        from_thread.run(told)
    finally:
        from_thread.check_cancelled()  # also in place of what a callback raises that was cancelled
