"""A probe is a write like any other."""

from pathlib import Path

import pytest

from stagepost.checkpoint import SqliteStore, StoreLost


async def test_a_probe_writes_to_the_file(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "runs.db") as store:
        wal = tmp_path / "runs.db-wal"
        before = wal.stat().st_size
        await store.probe()
        assert wal.stat().st_size > before


async def test_a_probe_of_a_store_that_refuses_writes_raises(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "runs.db") as store:
        await store.probe()
        (tmp_path / "runs.db").rename(tmp_path / "moved.db")
        with pytest.raises(StoreLost):
            await store.probe()
