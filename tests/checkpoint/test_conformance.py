from pathlib import Path
from types import ModuleType

import pytest
from anyio import fail_after

from stagepost.checkpoint import MemoryStore, SqliteStore, _conformance
from stagepost.checkpoint.testing import CHECKS, Check

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


def test_every_check_is_in_the_suite() -> None:
    modules = [module for name, module in vars(_conformance).items() if isinstance(module, ModuleType)]
    written = {name for module in modules for name in vars(module) if name.startswith("check_")}
    assert {check.__name__ for check in CHECKS} == written
    assert len(CHECKS) == len(written)
    assert {module.__name__ for module in modules} >= {check.__module__ for check in CHECKS}
