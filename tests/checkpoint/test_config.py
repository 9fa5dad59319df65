"""Stores from configuration."""

import subprocess
import sys
from pathlib import Path

import pytest

import stagepost.checkpoint
from stagepost.checkpoint import MemoryStore, SqliteStore, StoreConfig, StoreRegistry
from stagepost.hub import InvalidConfig, InvalidName


def test_a_store_is_made_from_configuration(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text('[store]\npath = "runs.db"\ndurability = "process"\nlock_timeout = 0\n')
    config = StoreConfig.load(tmp_path / "app.toml", table="store")
    store = StoreRegistry().store(config)
    assert isinstance(store, SqliteStore)
    assert (store.path, store._durability, store._lock_timeout) == (Path("runs.db"), "process", 0)
    assert isinstance(StoreRegistry().store(StoreConfig(kind="memory", max_value=None)), MemoryStore)


async def test_a_kind_of_yours_gets_the_whole_configuration() -> None:
    seen: list[StoreConfig] = []

    def mine(config: StoreConfig) -> MemoryStore:
        seen.append(config)
        return MemoryStore()

    registry = StoreRegistry({"mine": mine})
    config = StoreConfig(kind="mine", options={"host": "db", "port": 0, "tls": False})
    async with registry.store(config) as store:
        assert (await store.find()).items == ()
    assert seen == [config]
    assert registry.names == ("sqlite", "memory", "mine")


def test_an_explicit_zero_false_or_none_survives_merging() -> None:
    base = StoreConfig(path="a.db", lock_timeout=5, max_value=100, options={"tls": True})
    merged = base.merge(StoreConfig(lock_timeout=0, max_value=None, options={"tls": False}))
    assert merged == StoreConfig(path="a.db", lock_timeout=0, max_value=None, options={"tls": False})
    assert base.merge({"durability": "power"}).merge(StoreConfig()).path == "a.db"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"kind": "a b"}, "kind: String should match"),
        ({"durability": "none"}, "durability: Input should be 'power' or 'process'"),
        ({"lock_timeout": -1}, "lock_timeout: Input should be greater"),
        ({"max_value": 0}, "max_value: Input should be greater"),
        ({"pfad": "x"}, "pfad: Extra inputs"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_used_is_an_error_with_its_place(values: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        StoreConfig().merge(values)


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        (StoreConfig(kind="odd"), "no kind of store is called 'odd', only sqlite, memory"),
        (StoreConfig(), "kind 'sqlite' needs the path of its file"),
    ],
    ids=["unknown", "no path"],
)
def test_a_store_that_cannot_be_made_is_an_error(config: StoreConfig, problem: str) -> None:
    with pytest.raises(InvalidConfig, match=problem):
        StoreRegistry().store(config)
    with pytest.raises(InvalidName):
        StoreRegistry({"a b": lambda _: MemoryStore()})


def test_the_model_is_built_only_when_it_is_asked_for() -> None:
    code = (
        "import sys, stagepost.workflows; "
        "print([name for name in sys.modules if name.startswith('stagepost') and name.endswith('config')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment())
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = stagepost.checkpoint.Nothing


def _environment() -> dict[str, str]:
    return {"PYTHONPATH": ":".join(sys.path)}
