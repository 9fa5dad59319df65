from pathlib import Path

import pytest

from stagepost.checkpoint import MemoryStore, SqliteStore

BACKENDS = ("asyncio", "trio")
STORES = {"asyncio-memory": ("asyncio", "memory"), "trio-memory": ("trio", "memory"), "sqlite": ("asyncio", "sqlite")}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Async tests run on both event loops; those that ask for a store, with each one on each loop that it supports."""
    if "store_kind" in metafunc.fixturenames:
        metafunc.parametrize(("anyio_backend", "store_kind"), STORES.values(), ids=STORES.keys())
    elif "anyio_backend" in metafunc.fixturenames and not _chosen(metafunc):
        metafunc.parametrize("anyio_backend", BACKENDS)


def _chosen(metafunc: pytest.Metafunc) -> bool:
    return any("anyio_backend" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))


@pytest.fixture
def anyio_backend() -> str:
    """Without parameters of its own: see above."""
    return "asyncio"


@pytest.fixture
def store(store_kind: str, tmp_path: Path) -> MemoryStore | SqliteStore:
    """A store that the test enters, once or again and again."""
    if store_kind == "memory":
        return MemoryStore()
    return SqliteStore(tmp_path / "runs.db", durability="process", lock_timeout=0)
