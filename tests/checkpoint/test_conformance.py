from pathlib import Path

import pytest
from anyio import fail_after

from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.checkpoint._conformance import _fence, _frames, _items, _keeping, _retention, _runs
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
    written = {
        name
        for module in (_runs, _frames, _items, _fence, _retention, _keeping)
        for name in vars(module)
        if name.startswith("check_")
    }
    assert {check.__name__ for check in CHECKS} == written
    assert len(CHECKS) == len(written)
