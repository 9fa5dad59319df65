"""What code leaves in its task, found and removed."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio import CancelScope, create_task_group, fail_after, move_on_after, sleep_forever
from anyio.lowlevel import checkpoint

from stagepost.hub import new_guard


class Leaver:
    """Opens scopes and groups, and keeps them open."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.cancelled = anyio.Event()

    async def scope(self) -> None:
        self.kept.append(scope := move_on_after(60))
        scope.__enter__()

    async def several_scopes(self) -> None:
        for _ in range(3):
            await self.scope()

    async def cancelled_scope(self) -> None:
        await self.scope()
        self.kept[-1].cancel()

    async def group(self) -> None:
        self.kept.append(group := create_task_group())
        await group.__aenter__()
        group.start_soon(self._sleep)
        await checkpoint()

    async def group_inside_a_scope_that_ends(self) -> None:
        with suppress(RuntimeError), move_on_after(60):
            await self.group()

    async def _sleep(self) -> None:
        try:
            await sleep_forever()
        finally:
            self.cancelled.set()


WAYS = ["scope", "several_scopes", "cancelled_scope", "group", "group_inside_a_scope_that_ends"]


async def in_a_group(work: Callable[[], Awaitable[None]]) -> None:
    async with create_task_group() as group:
        await work()
        group.cancel_scope.cancel()


async def in_a_scope(work: Callable[[], Awaitable[None]]) -> None:
    with move_on_after(60):
        await work()


@pytest.mark.parametrize("around", [in_a_scope, in_a_group])
@pytest.mark.parametrize("way", WAYS)
async def test_a_task_that_goes_on_is_as_it_was_after_what_was_left_open(way: str, around: Any) -> None:
    leaver = Leaver()

    async def work() -> None:
        guard = new_guard()
        assert (guard.is_intact(), await guard.leave_scopes()) == (True, False)
        await getattr(leaver, way)()
        assert not guard.is_intact()
        assert await guard.leave_scopes()
        assert not await guard.drop_cancellation()
        assert guard.is_intact()
        if "group" in way:
            await leaver.cancelled.wait()
        for _ in range(3):
            await checkpoint()

    with fail_after(5):
        await around(work)


@pytest.mark.parametrize("way", WAYS)
async def test_a_task_that_ends_is_as_it_was_at_once(way: str) -> None:
    leaver, found = Leaver(), []

    async def work() -> None:
        guard = new_guard()
        found.append(guard.close_scopes())
        await getattr(leaver, way)()
        found.extend([guard.close_scopes(), guard.is_intact()])

    with fail_after(5):
        async with create_task_group() as group:
            group.start_soon(work)
    assert found == [False, True, True]


async def cancel() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def cancel_twice() -> None:
    await cancel()
    await cancel()


async def cancel_and_take_back() -> None:
    await cancel()
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()


async def cancel_and_swallow() -> None:
    await cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("way", [cancel, cancel_twice, cancel_and_swallow, cancel_and_take_back])
async def test_a_cancellation_of_its_own_is_dropped(anyio_backend: str, way: Callable[[], Awaitable[None]]) -> None:
    guard = new_guard()
    await way()
    is_intact = guard.is_intact()
    assert await guard.drop_cancellation() is not is_intact
    assert is_intact is (way is cancel_and_take_back and sys.version_info >= (3, 13))
    assert guard.is_intact()
    await asyncio.sleep(0)
    assert not await guard.drop_cancellation()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_that_was_there_before_stays(anyio_backend: str) -> None:
    task = asyncio.current_task()
    assert task is not None
    await cancel_and_swallow()
    guard = new_guard()
    await cancel_and_swallow()
    assert await guard.drop_cancellation()
    assert task.cancelling() == 1
    task.uncancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_cancellation_of_a_task_of_somebody_elses_stays(anyio_backend: str) -> None:
    task = asyncio.current_task()
    assert task is not None
    guard = new_guard(is_own=False)
    await cancel_and_swallow()
    assert guard.is_intact()
    assert not await guard.drop_cancellation()
    assert task.cancelling() == 1
    task.uncancel()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_while_a_scope_cancels_a_task_nothing_is_dropped(anyio_backend: str) -> None:
    with CancelScope() as scope:
        guard = new_guard()
        scope.cancel()
        await cancel_and_swallow()
        assert not await guard.drop_cancellation()
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()


def test_a_task_that_anyio_has_not_seen_is_guarded() -> None:
    async def work() -> None:
        guard = new_guard()
        scope = CancelScope()
        scope.__enter__()
        assert not guard.is_intact()
        assert await guard.leave_scopes()
        assert guard.is_intact()

    asyncio.run(work())


@pytest.mark.parametrize("names", [{}, {"_task_states": {}}], ids=["no name", "no states"])
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_with_a_later_anyio_no_scope_is_found(
    anyio_backend: str, names: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anyio._backends._asyncio", SimpleNamespace(**names))
    await check_that_no_scope_is_found()
    guard = new_guard()
    await cancel()
    assert await guard.drop_cancellation()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_with_states_of_another_kind_no_scope_is_found(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = {asyncio.current_task(): object()}
    monkeypatch.setattr("anyio._backends._asyncio", SimpleNamespace(_task_states=states))
    await check_that_no_scope_is_found()


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_with_a_later_trio_no_scope_is_found(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trio.Nursery", object)
    await check_that_no_scope_is_found()


async def check_that_no_scope_is_found() -> None:
    guard = new_guard()
    async with AsyncExitStack() as stack:
        stack.enter_context(CancelScope())
        assert guard.is_intact()
        assert not guard.close_scopes()
        assert not await guard.leave_scopes()
        assert not await guard.drop_cancellation()
