"""Bytes beside the JSON, where a file has them."""

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import new_run, save
from tests.checkpoint._processes import running

from stagepost.checkpoint import (
    BlobNotFound,
    CheckpointError,
    Closing,
    Commit,
    CorruptBlob,
    OrphanedRows,
    RunStatus,
    SqliteStore,
    StoreFailed,
    UnusedBlobs,
)
from stagepost.checkpoint._blobs import digest_of
from stagepost.checkpoint._sqlite import _blobs
from stagepost.checkpoint._sqlite._queries import Query

DATA = b"bytes of a picture"
DIGEST = digest_of(DATA)
LATER = datetime(3000, 1, 1, tzinfo=UTC)


def by_hand(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount


async def stored(file: Path, *run_ids: str) -> None:
    """Runs that have ended and refer to the same bytes."""
    async with SqliteStore(file) as store:
        for run_id in run_ids:
            lease, _ = await store.create(new_run(run_id))
            assert lease is not None
            await store.commit(save(lease, 2)._replace(blobs={DIGEST: DATA}))
            await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


async def found(file: Path) -> Sequence[CheckpointError]:
    async with SqliteStore.reader(file) as reader:
        return await reader.verify()


async def test_a_reader_of_the_file_gets_bytes(file: Path) -> None:
    await stored(file, "a")
    async with SqliteStore.reader(file) as reader:
        assert await reader.blob(DIGEST) == DATA
        with pytest.raises(BlobNotFound, match="no bytes are stored under the digest 'elsewhere'"):
            await reader.blob("elsewhere")
    assert await found(file) == []


async def test_bytes_that_are_there_are_not_written_again(file: Path) -> None:
    data = bytes(100_000)
    async with SqliteStore(file) as store:
        lease, _ = await store.create(new_run("run"))
        assert lease is not None
        await store.commit(save(lease, 2)._replace(blobs={digest_of(data): data}))
        wal = file.with_name("runs.db-wal")
        size = wal.stat().st_size
        await store.commit(save(lease, 3)._replace(blobs={digest_of(data): data}))
        assert wal.stat().st_size - size < len(data) / 2


async def test_bytes_that_are_gone_are_named_with_the_runs_that_refer_to_them(file: Path) -> None:
    await stored(file, "a", "b")
    by_hand(file, "DELETE FROM blobs")
    (error,) = await found(file)
    assert isinstance(error, CorruptBlob)
    assert (error.digest, error.runs, error.reason) == (DIGEST, ("a", "b"), "are gone")
    assert str(error).endswith("'a', 'b' refer to them: restore the file from a copy")


async def test_bytes_that_were_changed_are_named(file: Path) -> None:
    await stored(file, "a")
    by_hand(file, "UPDATE blobs SET value = x'00'")
    (error,) = await found(file)
    assert isinstance(error, CorruptBlob)
    assert error.reason == "are not what was stored"


async def test_bytes_that_no_run_refers_to_are_named_with_what_to_do(file: Path) -> None:
    await stored(file, "a")
    by_hand(file, "INSERT INTO blobs VALUES ('loose', x'0001')")
    (error,) = await found(file)
    assert isinstance(error, UnusedBlobs)
    assert (error.count, error.size) == (1, 2)
    by_hand(file, str(error).rpartition("run `")[2].rstrip("`"))
    assert await found(file) == []


async def test_references_of_a_run_that_was_deleted_by_hand_are_named_and_go_with_their_bytes(file: Path) -> None:
    await stored(file, "a")
    by_hand(file, "DELETE FROM runs")
    errors = await found(file)
    assert [error.table for error in errors if isinstance(error, OrphanedRows)] == ["blob_refs", "frames"]
    by_hand(file, *(str(error).rpartition("run `")[2].rstrip("`") for error in errors))
    assert await found(file) == []
    async with SqliteStore(file) as store:
        with pytest.raises(BlobNotFound):
            await store.blob(DIGEST)


@pytest.mark.parametrize("is_damage", [True, False], ids=["damaged", "no damage"])
async def test_bytes_that_cannot_be_read_are_damage_of_theirs_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch, *, is_damage: bool
) -> None:
    async def read(query: Query) -> Sequence[Sequence[str]]:
        if "FROM blobs" in query.text:
            raise StoreFailed(file, "malformed")
        return [["run"]] if "runs" in query.text else [[DIGEST]] if query.values[0] == b"" else []

    monkeypatch.setattr(_blobs, "is_damage", lambda _: is_damage)
    if is_damage:
        (error,) = await _blobs.damaged_blobs(read)
        assert error.reason == "cannot be read (malformed)"
    else:
        with pytest.raises(StoreFailed):
            await _blobs.damaged_blobs(read)


WRITER = """
import hashlib, os, sys, anyio
from stagepost.checkpoint import Commit, Frame, NewRun, SqliteStore

async def work(store, name):
    root = Frame("", 1, "next", {"digest": b"null"})
    lease, _ = await store.create(NewRun(name, "digest", 1, None, b"{}", 0, root))
    seq = 1
    while True:
        data = b"%d" % (seq // 2) * 5000 + (b"" if seq % 3 else name.encode())
        digest = hashlib.sha256(data).hexdigest()
        seq += 1
        frame = Frame("", seq, "next", {"digest": b'"%s"' % digest.encode()})
        await store.commit(Commit(lease=lease, frame=frame, blobs={digest: data}))
        os.write(1, f"{name} {digest}\\n".encode())

async def main(path):
    async with SqliteStore(path, durability="process") as store, anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(work, store, f"run-{number}")

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.parametrize("acknowledgements", [1, 20, 60, 150])
async def test_p7_behind_a_sigkill_no_message_is_without_its_bytes_and_no_bytes_without_a_run(
    file: Path, acknowledgements: int
) -> None:
    with fail_after(30):
        async with running(WRITER, file) as process:
            lines = [await process.line() for _ in range(acknowledgements)]
            await process.kill()
            lines += await process.rest()
        assert await found(file) == []
        async with SqliteStore(file, lock_timeout=0) as store:
            for _, digest in map(str.split, lines):
                assert digest_of(await store.blob(digest)) == digest
            for run in (await store.find()).items:
                said = (await store.load(run.run_id)).root.state["digest"]
                if said != b"null":
                    await store.blob(said.decode().strip('"'))


PRUNER = """
import os, sys, anyio
from datetime import UTC, datetime
from stagepost.checkpoint import SqliteStore

async def main(path):
    async with SqliteStore(path, durability="process") as store:
        while await store.prune(datetime(3000, 1, 1, tzinfo=UTC), limit=1):
            os.write(1, b"pruned\\n")
    os.write(1, b"done\\n")

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.parametrize("pruned", [1, 7, 19, 38])
async def test_p7_behind_a_sigkill_in_retention_shared_bytes_are_there_as_long_as_a_run_is(
    file: Path, pruned: int
) -> None:
    runs = 40
    async with SqliteStore(file, durability="process") as store:
        for number in range(runs):
            lease, _ = await store.create(new_run(f"run-{number}"))
            assert lease is not None
            mine, shared = b"%d" % number * 3000, b"shared %d" % (number % 4) * 3000
            blobs = {digest_of(mine): mine, digest_of(shared): shared}
            await store.commit(save(lease, 2)._replace(blobs=blobs))
            await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
    with fail_after(30):
        async with running(PRUNER, file) as process:
            for _ in range(pruned):
                await process.line()
            await process.kill()
        assert await found(file) == []
        async with SqliteStore(file, lock_timeout=0) as store:
            left = {run.run_id for run in (await store.find(limit=runs)).items}
            assert await store.prune(datetime(1970, 1, 1, tzinfo=UTC)) == 0  # goes on with what was cut off
            for number in range(runs):
                await _check(store, b"%d" % number * 3000, is_there=f"run-{number}" in left)
            for rest in range(4):
                is_there = any(f"run-{number}" in left for number in range(rest, runs, 4))
                await _check(store, b"shared %d" % rest * 3000, is_there=is_there)


async def _check(store: SqliteStore, data: bytes, *, is_there: bool) -> None:
    digest = hashlib.sha256(data).hexdigest()
    if is_there:
        assert await store.blob(digest) == data
    else:
        with pytest.raises(BlobNotFound):
            await store.blob(digest)
