"""What is seen of a file from outside, whoever owns it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stagepost.checkpoint import SqliteLibrary, SqliteStore, StoreFile


async def test_a_store_is_seen_with_its_owner_and_sizes(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "runs.db") as store:
        found = StoreFile.at(store.path)
        assert (found.exists, found.is_store, found.schema, found.problem) == (True, True, found.known_schema, None)
        assert found.owner is not None
        assert "process" in found.owner
        assert found.writer is None
        assert found.size > 0 or found.wal_size > 0
        assert found.free is not None
    assert StoreFile.at(store.path).owner is None


def test_nothing_is_made_where_there_is_no_file(tmp_path: Path) -> None:
    found = StoreFile.at(tmp_path / "none.db")
    assert (found.exists, found.is_store, found.schema, found.size, found.wal_size) == (False, False, None, 0, 0)
    assert list(tmp_path.iterdir()) == []
    assert StoreFile.at(tmp_path / "no folder" / "none.db").free is None


def test_what_is_no_store_says_so(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("a text " * 1000)
    assert "no SQLite database" in (StoreFile.at(text).problem or "")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE things (x)")
    found = StoreFile.at(other)
    assert (found.exists, found.is_store, found.schema, found.problem) == (True, False, None, None)


def test_a_lock_that_may_not_be_looked_at_names_nobody(tmp_path: Path) -> None:
    (tmp_path / "runs.db.lock").mkdir()
    assert StoreFile.at(tmp_path / "runs.db").owner is None


def test_the_library_is_enough_for_a_store() -> None:
    found = SqliteLibrary.here()
    assert (found.version, found.is_enough) == (sqlite3.sqlite_version, True)
    assert isinstance(found.has_fts5, bool)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
