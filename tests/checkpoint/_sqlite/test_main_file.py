"""Copying the WAL into the file, and what happens to the file meanwhile."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from stagepost.checkpoint import StoreLost, StoreNotReadable
from stagepost.checkpoint._sqlite import _connect, _main_file
from stagepost.checkpoint._sqlite._connect import connector, read_only
from stagepost.checkpoint._sqlite._generation import Files, OwnedConnection, copy_wal, lost
from stagepost.checkpoint._sqlite._reader import open_reader


@pytest.fixture
def owned(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnedConnection]:
    """A writing connection that waits for nobody."""
    monkeypatch.setattr(_connect, "BUSY_TIMEOUT", 0)
    with closing(connector(file, "process")()) as connection:
        assert isinstance(connection, OwnedConnection)
        yield connection


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The file of another store."""
    path = tmp_path / "other.db"
    connector(path, "process")().close()
    return path


def latest(connection: sqlite3.Connection) -> object:
    return connection.execute("SELECT value FROM meta WHERE name = 'copied'").fetchone()[0]


def test_each_copying_has_a_number_of_its_own(file: Path, owned: OwnedConnection) -> None:
    numbers = []
    for _ in range(3):
        copy_wal(owned, "PASSIVE")
        assert latest(owned) == _main_file.read_alone(file)
        numbers.append(_main_file.read_alone(file))
    assert len(set(numbers)) == 3
    assert lost(owned) is None


def test_a_copying_that_a_reader_holds_up_is_gone_on_with_under_its_number(file: Path, owned: OwnedConnection) -> None:
    copy_wal(owned, "PASSIVE")
    before = _main_file.read_alone(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM runs").fetchall()
        copy_wal(owned, "PASSIVE")
        raised = latest(owned)
        copy_wal(owned, "PASSIVE")
        assert latest(owned) == raised != before == _main_file.read_alone(file)
        assert lost(owned) is None
    copy_wal(owned, "PASSIVE")
    assert _main_file.read_alone(file) == raised


@contextmanager
def held_up(file: Path, owned: OwnedConnection) -> Iterator[None]:
    """A reader holds up the copying: the first page says that the file has pages which are not copied yet."""
    owned.execute("CREATE TABLE app_pad (text TEXT)")
    owned.execute("INSERT INTO app_pad VALUES (zeroblob(100)), (zeroblob(50000))")
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM runs").fetchall()
        owned.execute("UPDATE app_pad SET text = zeroblob(50001) WHERE length(text) = 50000")
        copy_wal(owned, "PASSIVE")
        assert _main_file.read_alone(file) is None
        yield


def test_a_file_that_cannot_be_read_alone_while_a_reader_holds_up_the_copying_is_not_lost(
    file: Path, owned: OwnedConnection
) -> None:
    copy_wal(owned, "PASSIVE")
    with held_up(file, owned):
        assert lost(owned) is None
        copy_wal(owned, "PASSIVE")
        assert lost(owned) is None
    copy_wal(owned, "PASSIVE")
    assert _main_file.read_alone(file) == latest(owned)
    assert lost(owned) is None


def test_what_writes_over_a_file_while_a_reader_holds_up_the_copying_is_found(
    file: Path, owned: OwnedConnection, other: Path
) -> None:
    copy_wal(owned, "PASSIVE")
    with held_up(file, owned):
        shutil.copyfile(other, file)
        error = lost(owned)
    assert error is not None
    assert "it was overwritten" in str(error)


def test_the_wal_is_copied_also_while_another_program_writes(file: Path, owned: OwnedConnection) -> None:
    copy_wal(owned, "PASSIVE")
    before = latest(owned)
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        copy_wal(owned, "PASSIVE")
    assert latest(owned) == before == _main_file.read_alone(file)


def test_the_wal_is_not_copied_into_a_file_that_was_written_over(
    file: Path, owned: OwnedConnection, other: Path
) -> None:
    shutil.copyfile(other, file)
    copy_wal(owned, "PASSIVE")
    assert file.read_bytes() == other.read_bytes()


def test_what_writes_over_a_file_while_the_wal_is_copied_is_found(
    file: Path, owned: OwnedConnection, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = _main_file._marks

    def write_over(path: Path) -> tuple[int, int]:
        shutil.copyfile(other, file)
        return marks(path)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(_main_file, "_marks", write_over)
        copy_wal(owned, "PASSIVE")
    error = lost(owned)
    assert error is not None
    assert "it was overwritten" in str(error)


def test_a_file_that_goes_while_it_is_looked_at_is_lost(
    file: Path, owned: OwnedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(path: Path) -> tuple[int, int]:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    os.utime(file)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(_main_file, "_marks", gone)
        error = lost(owned)
    assert error is not None
    assert "it was deleted or moved" in str(error)


def test_a_number_that_cannot_be_read_at_first_is_known_when_the_wal_was_copied(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash may leave a file that is half written, and whole together with its WAL."""
    with monkeypatch.context() as torn:
        torn.setattr(_main_file, "read_alone", lambda _: None)
        connection = connector(file, "process")()
        os.utime(file)
        assert lost(connection) is None
    with closing(connection):
        copy_wal(connection, "PASSIVE")
        os.utime(file)
        assert lost(connection) is None
        assert latest(connection) == _main_file.read_alone(file)


def test_a_database_whose_wal_is_gone_at_once_is_lost(file: Path) -> None:
    file.touch()
    with pytest.raises(StoreLost, match=r"its file runs\.db-wal was deleted or moved"):
        Files(file, file).add_beside()


async def test_a_file_that_goes_before_it_is_opened_cannot_be_read(file: Path) -> None:
    with pytest.raises(StoreNotReadable, match="No such file"):
        async with open_reader(read_only(file), file, file):
            pass
