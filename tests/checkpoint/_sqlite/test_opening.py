"""A file becomes a store, or is refused untouched and with what to do."""

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import started
from tests.checkpoint._users import as_nobody

from stagepost.checkpoint import (
    BackendNotSupported,
    NotAStore,
    SqliteStore,
    SqliteTooOld,
    SqliteWithoutFts5,
    StoreError,
    StoreFailed,
    StoreLocked,
    StoreNotReadable,
    StoreNotWritable,
)
from stagepost.checkpoint._sqlite import _connect, _error_words, _store
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.checkpoint._sqlite._connect import Durability, connector
from stagepost.checkpoint._sqlite._schema import APPLICATION_ID, NEEDED, VERSION, check_version


async def opening(file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file, lock_timeout=0):
            pass


def execute(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


# whose files


def modes(file: Path) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in file.parent.iterdir()}


async def test_files_are_readable_by_their_owner_only(file: Path) -> None:
    async with SqliteStore(file) as store:
        await started(store)
        assert modes(file) == dict.fromkeys(["runs.db", "runs.db-wal", "runs.db-shm", "runs.db.lock"], "0o600")


def close_folder(folder: Path) -> None:
    """Its files can be written, but none can be added."""
    for path in folder.iterdir():
        path.chmod(0o666)
    folder.chmod(0o555)


async def test_a_folder_that_refuses_is_not_writable(public: Path) -> None:
    close_folder(public)
    with as_nobody(), pytest.raises(StoreNotWritable, match=r"Permission denied.*a folder that this user may write"):
        await opening(public / "runs.db")


async def test_a_file_that_refuses_is_not_writable(public: Path) -> None:
    await opening(public / "runs.db")
    (public / "runs.db.lock").chmod(0o666)
    (public / "runs.db").chmod(0o444)
    with as_nobody(), pytest.raises(StoreNotWritable, match=r"runs\.db cannot be written"):
        await opening(public / "runs.db")


async def test_a_folder_that_refuses_only_the_wal_is_not_writable(public: Path) -> None:
    await opening(public / "runs.db")
    close_folder(public)
    with as_nobody(), pytest.raises(StoreNotWritable):
        await opening(public / "runs.db")


async def test_a_missing_folder_is_not_writable(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match="No such file or directory"):
        await opening(tmp_path / "missing" / "runs.db")


def test_a_database_cannot_be_made_in_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match="No such file or directory"):
        _connect.create_file(tmp_path / "missing" / "runs.db")


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreNotWritable, match="Is a directory"):
        await opening(tmp_path)


# what is in the file


@pytest.mark.parametrize("size", [5, 600, 5_000])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(file: Path, size: int) -> None:
    content = b"precious " * size
    write(file, content)
    with pytest.raises(NotAStore, match="it is no SQLite database; give another file name"):
        await opening(file)
    assert read(file) == content


@pytest.mark.parametrize("marker", [0, 1, -1], ids=["unmarked", "marked", "negative"])
async def test_the_database_of_another_application_is_refused_and_left_alone(file: Path, marker: int) -> None:
    execute(file, "CREATE TABLE theirs (x)", f"PRAGMA application_id = {marker}")
    content = read(file)
    with pytest.raises(NotAStore, match="it is the database of something else"):
        await opening(file)
    assert read(file) == content


VERSIONS = {
    "newer": (VERSION + 1, f"its schema is version {VERSION + 1}, this stagepost knows {VERSION}; upgrade stagepost"),
    "older": (
        VERSION - 1,
        f"its schema is version {VERSION - 1}, that of an older stagepost.* before 0.2.0 no file is",
    ),
}


@pytest.mark.parametrize(("version", "why"), VERSIONS.values(), ids=VERSIONS)
async def test_another_schema_is_refused(file: Path, version: int, why: str) -> None:
    await opening(file)
    execute(file, f"PRAGMA user_version = {version}")
    content = read(file)
    with pytest.raises(NotAStore, match=why):
        await opening(file)
    with pytest.raises(NotAStore, match=why):
        await SqliteStore.reader(file).__aenter__()
    assert read(file) == content


@pytest.mark.parametrize(
    "change",
    ["ALTER TABLE runs ADD COLUMN more TEXT", "DROP INDEX runs_status", "DROP TABLE keys"],
    ids=["column", "index", "table"],
)
async def test_other_tables_of_the_same_version_are_refused(file: Path, change: str) -> None:
    await opening(file)
    execute(file, change)
    why = f"these are not the tables of schema version {VERSION}: .*(runs|keys).*; somebody has changed them"
    with pytest.raises(NotAStore, match=why):
        await opening(file)
    with pytest.raises(NotAStore, match=why):
        await SqliteStore.reader(file).__aenter__()


async def test_tables_and_indexes_of_others_are_no_hindrance(file: Path) -> None:
    await opening(file)
    execute(file, "CREATE TABLE theirs (x)", "CREATE INDEX slow ON runs (owner)", "VACUUM")
    await opening(file)


async def test_a_damaged_store_is_told(file: Path) -> None:
    await opening(file)
    content = read(file)
    write(file, content[:100] + b"\xff" * 500 + content[600:])
    with pytest.raises(StoreFailed, match="malformed"):
        await opening(file)


async def test_an_empty_file_becomes_a_store(file: Path) -> None:
    write(file, b"")
    await opening(file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


async def test_a_name_full_of_signs_is_fine(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "a b?mode=memory&x=#%20é.db") as store:
        await started(store)
        assert (await store.load("run")).run.run_id == "run"


async def test_a_refused_opening_lets_go_of_the_lock(file: Path) -> None:
    write(file, b"precious" * 100)
    for _ in range(2):
        with pytest.raises(NotAStore):
            await opening(file)
    write(file, b"")
    await opening(file)


async def test_a_file_that_another_program_writes_is_locked(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_connect, "BUSY_TIMEOUT", 0)
    await opening(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match="a program that writes to it beside stagepost"):
            await opening(file)


async def test_a_reader_that_cannot_be_opened_leaves_nothing_behind(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(_store, "read_only", lambda path: f"file:{path}.missing?mode=ro")
        with pytest.raises(StoreNotReadable):
            await opening(file)
    await opening(file)


def read(file: Path) -> bytes:
    return file.read_bytes()


def write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


# what the interpreter and the system can do


@pytest.mark.parametrize("found", [(3, 36, 0), (3, 8, 99)])
def test_an_sqlite_without_strict_tables_is_too_old(found: tuple[int, int, int]) -> None:
    with pytest.raises(SqliteTooOld, match=r"is too old, the store needs 3\.37\.0"):
        check_version(found)
    check_version(NEEDED)


async def test_an_old_sqlite_is_refused_on_entering(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(SqliteTooOld, match=r"SQLite 3\.36\.0 is too old"):
        await opening(file)


async def test_an_sqlite_without_fts5_is_refused_on_entering(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_error_words, "MODULE", "fts99")
    with pytest.raises(SqliteWithoutFts5, match=r"SQLite 3\.\S+ was built without FTS5, which the store needs"):
        await opening(file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_trio_is_refused_with_the_name_of_the_store_for_it(file: Path) -> None:
    with pytest.raises(BackendNotSupported, match="MemoryStore"):
        await opening(file)
    assert not file.with_name("runs.db.lock").exists()


PROMISED = {"journal_mode": "wal", "wal_autocheckpoint": 0, "foreign_keys": 1, "trusted_schema": 0, "secure_delete": 2}


@pytest.mark.parametrize(("durability", "synchronous"), [("power", 2), ("process", 1)])
async def test_p12_the_writing_connection_is_as_durable_as_promised(
    file: Path, durability: Durability, synchronous: int
) -> None:
    answers: dict[str, object] = {}

    def ask(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        for pragma in (*PROMISED, "synchronous"):
            answers[pragma] = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
        return run_batch(connection, batch)

    async with SqliteStore(file, durability=durability, run_batch=ask) as store:
        await started(store)
    assert answers == {**PROMISED, "synchronous": synchronous}


def test_on_macos_the_drive_is_told_to_write(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with closing(connector(file, "power")()) as connection:
        assert connection.execute("PRAGMA fullfsync").fetchone() == (1,)


def test_a_file_system_without_wal_is_refused(file: Path) -> None:
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as connection,
        pytest.raises(NotAStore, match="its file system refuses WAL"),
    ):
        _connect._set_up(connection, file, "power")


def test_p12_a_durability_that_sqlite_does_not_confirm_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_connect._SYNCHRONOUS, "power", 9)
    with pytest.raises(NotAStore, match=r"SQLite refuses durability 'power' \(synchronous is 1\)"):
        connector(file, "power")()


async def test_all_that_opening_raises_is_a_store_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("no SQL")

    monkeypatch.setattr(_connect, "restrict", fail)
    with pytest.raises(StoreError, match="syntax error"):
        await opening(file)
