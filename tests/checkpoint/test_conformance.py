from pathlib import Path
from types import ModuleType

import pytest
from anyio import fail_after

from stagepost.checkpoint import MemoryStore, SqliteStore, _conformance
from stagepost.checkpoint.testing import BESIDE, CHECKS, SEVERAL, Check, CheckBeside, CheckOfSeveral

every_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))


@every_check
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_memory_store_conforms(check: Check) -> None:
    with fail_after(10):
        async with MemoryStore() as store:
            await check(store)


@every_check
async def test_the_sqlite_store_conforms(check: Check, file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file, durability="process") as store:
            await check(store)


@every_check
async def test_the_sqlite_store_conforms_at_full_durability(check: Check, file: Path) -> None:
    with fail_after(10):
        async with SqliteStore(file) as store:
            await check(store)


of_several = pytest.mark.parametrize("check", SEVERAL, ids=lambda check: check.__name__.removeprefix("check_"))
beside = pytest.mark.parametrize("check", BESIDE, ids=lambda check: check.__name__.removeprefix("check_"))


class Clock:
    """A clock that is put on by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@of_several
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_memory_store_conforms_with_several_owners(check: CheckOfSeveral) -> None:
    clock = Clock()
    with fail_after(10):
        async with MemoryStore(owners=2, ttl=15, clock=clock) as store:
            await check(store, clock.advance)


@pytest.mark.parametrize("check", [check for check in CHECKS if check.__name__ != "check_one_runner_at_a_time"])
async def test_one_owner_of_several_finds_the_store_as_if_it_were_the_only_one(check: Check) -> None:
    with fail_after(10):
        async with MemoryStore(owners=2) as store:
            await check(store)


@beside
async def test_writers_beside_the_owner_of_a_file_conform(check: CheckBeside, file: Path) -> None:
    with fail_after(20):
        async with SqliteStore(file) as store, SqliteStore.inbox(file) as inbox:
            await check(store, inbox)


@beside
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_memory_store_is_its_own_inbox(check: CheckBeside) -> None:
    with fail_after(10):
        async with MemoryStore() as store:
            await check(store, store)


def test_every_check_is_in_the_suite() -> None:
    modules = [module for name, module in vars(_conformance).items() if isinstance(module, ModuleType)]
    written = {name for module in modules for name in vars(module) if name.startswith("check_")}
    suite = [*CHECKS, *SEVERAL, *BESIDE]
    assert {check.__name__ for check in suite} == written
    assert len(suite) == len(written)
    assert {module.__name__ for module in modules} >= {check.__module__ for check in suite}
