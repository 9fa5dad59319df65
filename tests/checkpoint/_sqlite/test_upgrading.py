"""Files of an older version: brought over in place by their owner, as a whole or not at all."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.checkpoint._builders import claimed, failed, save, sqlite_error, started
from tests.checkpoint._sqlite._versions import Later, Next, add, later, version_of

from stagepost.checkpoint import (
    NotAStore,
    SqliteStore,
    StoreTakenOver,
)
from stagepost.checkpoint._sqlite._connect import connector
from stagepost.checkpoint._sqlite._schema import OLDEST, UPGRADES, VERSION, normal
from stagepost.checkpoint.errors import StoreError

ROOT = Path(__file__).parents[3]


@pytest.fixture
async def older(file: Path) -> Path:
    """A file of this version with a run that has begun."""
    async with SqliteStore(file, durability="process") as store:
        await started(store, "before")
    return file


async def test_a_file_of_each_version_since_0_2_0_can_be_brought_over() -> None:
    assert sorted(UPGRADES) == list(range(OLDEST, VERSION))


@pytest.mark.parametrize("kind", [Next, Later], ids=["one version", "two versions"])
async def test_an_older_file_is_brought_over_and_its_runs_go_on(older: Path, kind: type[SqliteStore]) -> None:
    async with kind(older, durability="process") as store:
        assert await store.query("SELECT mood FROM moods") == [("glad",)]
        lease = await claimed(store, "before")
        await store.commit(save(lease, 2, done=b"true"))
        assert (await store.load("before")).root.state == {"done": b"true"}
        await started(store, "after")
        await store.commit(failed(lease, "enough"))
        await store.delete("before")  # what refers to it goes with it
        assert await store.query("SELECT count(*) FROM frames WHERE rk = 1") == [(0,)]
    assert version_of(older) == kind._schema.version
    async with kind(older, durability="process") as store:
        assert not await store.verify()
    with pytest.raises(
        NotAStore, match=rf"its schema is version {kind._schema.version}, this stagepost knows {VERSION}"
    ):
        await SqliteStore(older).__aenter__()


@pytest.mark.parametrize("where", ["between", "at the end", "committed"])
def test_a_process_that_is_killed_while_it_brings_a_file_over_leaves_one_version(file: Path, where: str) -> None:
    connector(file, "process")().close()
    folders = [str(ROOT / folder) for folder in ("hub", "checkpoint", "")]
    command = [sys.executable, "-m", "tests.checkpoint._sqlite._versions", str(file), where]
    killed = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)}, check=False, capture_output=True, text=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    if where == "committed":
        assert version_of(file) == VERSION + 2
    else:
        connector(file, "process")().close()  # this version has it as it was
        assert version_of(file) == VERSION
    with closing(connector(file, "process", schema=Later._schema)()) as connection:
        assert connection.execute("SELECT count(*) FROM moods").fetchone() == (0,)


@pytest.mark.parametrize("opened", [Next.reader, Next.inbox], ids=["reader", "inbox"])
async def test_who_does_not_own_an_older_file_is_told_who_brings_it_over(older: Path, opened: type) -> None:
    with pytest.raises(
        NotAStore, match=rf"its schema is version {VERSION}, .* brought over when a runner of this stag"
    ):
        async with opened(older):
            pass
    assert version_of(older) == VERSION


async def test_readers_and_inboxes_that_were_open_before_are_refused(older: Path) -> None:
    async with SqliteStore(older) as store:
        await started(store)
    async with SqliteStore.reader(older) as reader, SqliteStore.inbox(older) as inbox:
        assert (await reader.info("run")).run_id == "run"
        async with Next(older):
            why = f"a newer stagepost has brought it from schema version {VERSION} to {VERSION + 1}; upgrade stagepost"
            with pytest.raises(NotAStore, match=why):
                await reader.info("run")
            with pytest.raises(NotAStore, match=why):
                await inbox.cancel("run")
            with pytest.raises(NotAStore, match=why):
                await inbox.find()
    async with Next(older) as store:
        assert not (await store.info("run")).cancelling


async def test_a_query_that_fails_since_the_tables_are_others_is_told_the_same(older: Path) -> None:
    async with SqliteStore.reader(older) as reader:
        with closing(sqlite3.connect(older)) as connection:
            connection.execute("ALTER TABLE runs RENAME TO executions")
            connection.execute(f"PRAGMA user_version = {VERSION + 1}")
        with pytest.raises(NotAStore, match="a newer stagepost has brought it"):
            await reader.info("run")


async def test_the_owner_before_can_commit_nothing_to_a_file_that_was_brought_over(older: Path) -> None:
    async with SqliteStore(older) as before:
        lease = await claimed(before, "before")
        async with Next(older, take_over=True) as store:
            with pytest.raises(StoreTakenOver):
                await before.commit(save(lease, 2))
            assert (await store.load("before")).root.seq == 1


def test_a_file_that_is_not_ours_to_own_is_not_brought_over(file: Path) -> None:
    connector(file, "process")().close()

    def confirm() -> None:
        raise StoreTakenOver(file)

    with pytest.raises(StoreTakenOver):
        connector(file, "process", confirm, schema=Next._schema)()
    assert version_of(file) == VERSION


def spoil(connection: sqlite3.Connection) -> None:
    add(connection)
    connection.execute("DELETE FROM runs")


def half(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE blobs ADD COLUMN mood TEXT")


def twice(connection: sqlite3.Connection) -> None:
    add(connection)
    connection.execute("INSERT INTO moods SELECT rk, 'sad' FROM runs")


STUCK = {
    "a row is there already": (twice, "SELECT 1", "cannot be brought .*: UNIQUE constraint failed: moods.rk"),
    "another table is in its place": (
        add,
        "CREATE TABLE moods (x)",
        "cannot be brought .*: table moods already exists",
    ),
    "rows belong to nothing": (spoil, "SELECT 1", "cannot be brought .*: rows of frames belong to no run"),
    "other tables": (half, "SELECT 1", "these are not the tables of schema version .*: moods, moods_mood; "),
}


@pytest.mark.parametrize(("upgrade", "before", "why"), STUCK.values(), ids=STUCK)
async def test_what_cannot_be_brought_over_stays_as_it_is(older: Path, upgrade: object, before: str, why: str) -> None:
    with closing(sqlite3.connect(older)) as connection:
        connection.execute(before)
    with pytest.raises(NotAStore, match=why):
        connector(older, "process", schema=later(upgrade))()  # type: ignore[arg-type]  # it is one
    async with SqliteStore(older) as store:
        assert (await store.load("before")).root.seq == 1


async def test_a_full_disk_is_told_as_such(older: Path) -> None:
    def full(_: sqlite3.Connection) -> None:
        raise sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")

    with pytest.raises(StoreError, match="no space left"):
        connector(older, "process", schema=later(full))()
    assert version_of(older) == VERSION


def test_statements_are_the_same_whatever_their_layout_and_comments() -> None:
    made = 'CREATE TABLE "runs" (rk INTEGER,  -- short\n  id TEXT NOT NULL\n, mood TEXT) STRICT'
    assert normal(made) == normal("CREATE TABLE runs(\n rk  INTEGER, id TEXT NOT NULL, mood TEXT -- new\n) STRICT")
    assert normal(made) != normal("CREATE TABLE runs (rk INTEGER, id TEXT, mood TEXT) STRICT")
