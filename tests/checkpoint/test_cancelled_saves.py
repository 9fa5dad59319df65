"""A save that is cancelled at any of its awaits: what its caller knows and what is stored never part."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.checkpoint._builders import save, started

from stagepost.checkpoint import MemoryStore, SqliteStore

MOST_AWAITS = 12  # a save has fewer


async def cancelled_after(turns: int, commit: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Cancel what runs beside when the loop has turned so many times."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(commit)
        for _ in range(turns):
            await checkpoint()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_p6_in_memory_a_cancelled_save_is_known_or_was_never_made(anyio_backend: str) -> None:
    known = list[bool]()
    with fail_after(20):
        async with MemoryStore() as store:
            for turns in range(MOST_AWAITS):
                lease, told = await started(store, f"run-{turns}"), list[bool]()

                async def commit() -> None:
                    await store.commit(save(lease, 2))  # noqa: B023  # it ends within this turn of the loop
                    told.append(True)  # noqa: B023

                await cancelled_after(turns, commit)
                assert (await store.load(f"run-{turns}")).root.seq == 1 + len(told)
                known.append(bool(told))
    assert known[-1]


@pytest.mark.parametrize("by", ["scope", "task"])
async def test_p6_on_disk_a_cancelled_save_is_known_or_was_never_made(file: Path, by: str) -> None:
    known = list[bool]()
    with fail_after(20):
        async with SqliteStore(file, durability="process") as store:
            for turns in range(3 * MOST_AWAITS):
                lease, told = await started(store, f"run-{turns}"), list[bool]()

                async def commit() -> None:
                    await store.commit(save(lease, 2))  # noqa: B023  # it ends within this turn of the loop
                    told.append(True)  # noqa: B023

                if by == "scope":
                    await cancelled_after(turns // 3, commit)
                else:
                    await task_cancelled_after(turns // 3, commit)
                assert (await store.load(f"run-{turns}")).root.seq == 1 + len(told)
                known.append(bool(told))
    assert any(known)
    assert by == "scope" or not known[0]  # cancelled before it began


async def task_cancelled_after(turns: int, commit: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """The same by asyncio's own means, which know no shield."""
    task = asyncio.ensure_future(commit())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
