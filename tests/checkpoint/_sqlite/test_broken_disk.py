"""A disk that fails to sync: what was acknowledged is there, and nothing more is promised until it is reopened."""

from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import claimed, save
from tests.checkpoint._disk import build, recording
from tests.checkpoint._processes import running

from stagepost.checkpoint import SqliteStore

COMMITTER = """
import os, sys, anyio
from stagepost.checkpoint import CheckpointError, SqliteStore
from tests.checkpoint._builders import claimed, new_run, save, started

async def main(path):
    async with SqliteStore(path) as store:
        lease, seq = await started(store), 1
        try:
            while True:
                seq += 1
                await store.commit(save(lease, seq))
                os.write(1, b"%d\\n" % seq)
        except CheckpointError as error:
            os.write(1, f"{type(error).__name__}: {error}\\n".encode())
        for attempt in (lambda: store.commit(save(lease, seq)), lambda: store.create(new_run("another"))):
            try:
                await attempt()
            except CheckpointError as error:
                os.write(1, f"{type(error).__name__}\\n".encode())
        os.write(1, b"%d read\\n" % (await store.load("run")).root.seq)
    os.write(1, b"left\\n")

anyio.run(main, sys.argv[1])
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("library"))


@pytest.mark.parametrize("acknowledged", [1, 20])
async def test_p12_after_a_failed_sync_nothing_is_acknowledged_any_more(
    file: Path, library: Path, tmp_path: Path, acknowledged: int
) -> None:
    broken = tmp_path / "broken"
    variables = {**recording(library, tmp_path, tmp_path / "log"), "DISK_BROKEN": str(broken)}
    with fail_after(20):
        async with running(COMMITTER, file, **variables) as process:
            for _ in range(acknowledged):
                await process.line()
            broken.touch()
            *rest, failure, again, other, read, left = await process.rest()
        last = acknowledged + 1 + len(rest)
        assert failure.startswith("StoreFailed: ")
        assert "disk I/O error) and takes no more commits: check the disk, reopen the store" in failure
        assert (again, other, read, left) == ("StoreFailed", "StoreFailed", f"{last} read", "left")
        async with SqliteStore(file, lock_timeout=0) as store:
            root = (await store.load("run")).root
            assert root.seq in {last, last + 1}  # the one that failed may or may not have reached the disk
            assert [run.run_id for run in (await store.find()).items] == ["run"]
            await store.commit(save(await claimed(store, "run"), root.seq + 1))
