"""What code may do to the task that runs it: cancel it, resist its cancellation, leave scopes open in it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final, NoReturn

import trio
from anyio import CancelScope, create_task_group, fail_after, get_cancelled_exc_class, sleep, sleep_forever
from anyio.lowlevel import checkpoint
from tests.hub._hostile_errors import Odd

kept: Final[list[object]] = []
"""What was left open, so that no collector closes it; cleared after each test."""


async def caught_cancellation() -> BaseException:
    """A cancellation as the loop makes them, out of the scope that it belongs to."""
    with CancelScope() as scope:
        scope.cancel()
        try:
            await checkpoint()
        except get_cancelled_exc_class() as error:
            return error
    raise AssertionError


async def raise_caught() -> NoReturn:
    raise await caught_cancellation()


async def raise_caught_in_group() -> NoReturn:
    raise BaseExceptionGroup("g", [await caught_cancellation(), await caught_cancellation()])


async def await_cancelled() -> None:
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


async def cancel_self() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def cancel_self_twice() -> None:
    await cancel_self()
    await cancel_self()


async def cancel_self_and_wait() -> None:
    await cancel_self()
    await asyncio.sleep(0)


async def cancel_self_and_swallow() -> None:
    await cancel_self()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        return


async def cancel_self_and_fail() -> None:
    await cancel_self()
    raise Odd


async def failing_asyncio_group() -> None:
    async def child() -> None:
        raise Odd

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(child())
        await asyncio.sleep(60)


async def cancel_self_and_failing_group() -> None:
    await cancel_self()
    await failing_asyncio_group()


async def failing_group() -> None:
    async def child() -> None:
        raise Odd

    async with create_task_group() as tasks:
        tasks.start_soon(child)
        await sleep_forever()


async def timed_out() -> None:
    with fail_after(0.01):
        await sleep_forever()


async def swallow_cancellation() -> None:
    try:
        await sleep_forever()
    except get_cancelled_exc_class():
        return


async def resist_cancellation() -> None:
    try:
        await sleep_forever()
    finally:
        with CancelScope(shield=True):
            await sleep(0.3)


async def fail_when_cancelled() -> None:
    try:
        await sleep_forever()
    finally:
        raise Odd


async def leave_scope() -> None:
    scope = CancelScope()
    kept.append(scope)
    scope.__enter__()


async def leave_cancelled_scope() -> None:
    await leave_scope()
    scope = kept[-1]
    assert isinstance(scope, CancelScope)
    scope.cancel()


async def leave_shield() -> None:
    scope = CancelScope(shield=True)
    kept.append(scope)
    scope.__enter__()


def leave_deadline(seconds: float) -> Callable[[], Coroutine[Any, Any, None]]:
    async def numbers() -> AsyncIterator[int]:
        with fail_after(seconds):
            yield 1
            yield 2

    async def leave() -> None:
        stream = numbers()
        kept.append(stream)
        await anext(stream)

    return leave


async def leave_group() -> None:
    kept.append(await create_task_group().__aenter__())


async def leave_busy_group() -> None:
    group = await create_task_group().__aenter__()
    group.start_soon(sleep, 0.01)
    kept.append(group)


async def leave_failing_group() -> None:
    async def fail() -> None:
        raise Odd

    group = await create_task_group().__aenter__()
    group.start_soon(fail)
    kept.append(group)


async def leave_asyncio_timeout() -> None:
    kept.append(await asyncio.timeout(0.01).__aenter__())


async def leave_asyncio_group() -> None:
    kept.append(await asyncio.TaskGroup().__aenter__())


async def leave_nursery() -> None:
    manager = trio.open_nursery()
    kept.extend([manager, await manager.__aenter__()])
