"""Reading a store's file without owning it, from any process."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio

from ..errors import BackendNotSupported, NotAStore, StoreNotReadable
from ._aside import Aside
from ._connect import read_only
from ._generation import resolve
from ._queries import Query, Row
from ._reader import Reader, open_reader
from ._schema import APPLICATION_ID, MASTER, Schema, check_version

T = TypeVar("T")
_MARKS = Query("SELECT application_id, user_version FROM pragma_application_id, pragma_user_version", ())

_TABLES = Query(MASTER, ())


class StoreReader(Aside):
    """What a store says of its runs. `SqliteStore.reader` opens one.

    Each call is one short transaction of its own, so it sees what has been acknowledged before, holds nobody up, and is
    not held up by commits.
    """

    def __init__(self, reader: Reader, path: Path, name: Path) -> None:
        self._reader = reader
        self._at = path, name

    def _file(self) -> tuple[Path, Path]:
        return self._at

    async def _read(self, query: Query) -> Sequence[Row]:
        return await self._reader.fetch(query)

    async def _read_each(self, queries: Sequence[Query]) -> Sequence[Sequence[Row]]:
        return await self._reader.fetch_each(queries)


@asynccontextmanager
async def open_store_reader(given: Path, schema: Schema) -> AsyncIterator[StoreReader]:
    """Open a file for reading, whoever owns it, and see that it is a store; raises what `opened_reader` does."""
    async with opened_reader(given, schema) as (reader, path, name):
        yield StoreReader(reader, path, name)


@asynccontextmanager
async def opened_reader(given: Path, schema: Schema) -> AsyncIterator[tuple[Reader, Path, Path]]:
    """A reader of a file that is a store, the file's path without symbolic links, and the absolute one.

    Raises:
        StoreNotReadable: There is no such file, or it or its folder refuses.
        NotAStore: It is something else.
        SqliteTooOld: SQLite is older than 3.37.
        BackendNotSupported: The loop is not asyncio's.
    """
    check_backend()
    check_version(sqlite3.sqlite_version_info)
    path, name = resolve(given)
    if not await anyio.Path(path).is_file():
        raise StoreNotReadable(path, "there is no such file")
    async with open_reader(read_only(path), path, name) as reader:
        ((marker, version),) = await reader.fetch(_MARKS)
        if marker != APPLICATION_ID:
            raise NotAStore(path, "no store was ever opened on it; give the file of one")
        schema.check(version, [(name, sql) for name, sql in await reader.fetch(_TABLES)], path)
        reader.watch_beside()
        reader.watch_version(schema)
        yield reader, path, name


def check_backend() -> None:
    """Refuse any event loop but asyncio's.

    Raises:
        BackendNotSupported: It is another one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise BackendNotSupported from None
