"""A process that dies after each commit: what a step sees must come from the store alone."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn, TypeVar

import anyio

from stagepost.checkpoint import Commit, Lease, MemoryStore, NewWait, StoredWait
from stagepost.hub import Duration, seconds

from ._lives import Drive, MakeRunner

T = TypeVar("T")


async def amnesia(
    make_runner: MakeRunner, drive: Drive[T], *, timeout: Duration | None = 60
) -> T:  # the domain's own word
    """Run something so that its process seems to die after each commit, without anybody hearing of that commit.

    Each time all that was in memory is gone: another runner is made, recovers the run from the store, and `drive` is
    called again. Whatever a step keeps in a variable, a closure or ``context.deps`` and not in its state is lost, as in
    a crash. It takes no processes, so it is quick; for the real thing see `kill_and_recover`.

    ::

        def make_runner(store):
            return Runner(store, workflows=[order])

        async def drive(runner):
            run = await runner.start(order, {"item": "tea"}, run_id="order")
            return await run.result()

        assert (await amnesia(make_runner, drive))["paid"]

    Args:
        make_runner: Makes the runner of each life for the store that it is given.
        drive: What each life does with it. It starts runs with ``run_id=`` or ``key=``, so that the next life finds
            them again, and must be able to meet what it has done before.
        timeout: Seconds for all lives together. None for no limit.

    Returns:
        What `drive` has returned in the last life.

    Raises:
        TimeoutError: It took longer.
        Exception: `drive` has raised it.
    """
    store = _Forgetful()
    with anyio.fail_after(seconds(timeout, "timeout")):
        while True:
            store.died = anyio.Event()
            outcome = await _live(store, make_runner, drive)
            if outcome:
                return outcome[0]


async def _live(store: "_Forgetful", make_runner: MakeRunner, drive: Drive[T]) -> list[T]:
    """One life: what `drive` returns, or nothing if the process has died before."""
    outcome, failure = list[T](), list[Exception]()

    async def work(scope: anyio.CancelScope) -> None:
        try:
            await runner.recover()
            outcome.append(await drive(runner))
        except Exception as error:  # noqa: BLE001  # raised below, outside of the group, which would wrap it
            failure.append(error)
        scope.cancel()

    with suppress(_Died):
        async with store, make_runner(store) as runner:
            async with anyio.create_task_group() as group:
                group.start_soon(work, group.cancel_scope)
                await store.died.wait()
                group.cancel_scope.cancel()
            raise _Died  # which leaves the runner at once: nothing gets a time to end
    if failure:
        raise failure[0]
    return outcome


class _Died(Exception):  # no error: it ends a life
    """The process is dead."""


class _Forgetful(MemoryStore):
    """A store that saves one commit, tells nobody of it, and is dead from then on, until the next life."""

    def __init__(self) -> None:
        super().__init__()
        self.died = anyio.Event()

    async def commit(self, commit: Commit) -> None:
        await self._die(partial(super().commit, commit))

    async def wait(self, lease: Lease, wait: NewWait) -> StoredWait:
        await self._die(partial(super().wait, lease, wait))

    async def park(self, lease: Lease, heard: int) -> bool:
        await self._die(partial(super().park, lease, heard))

    async def _die(self, save: Callable[[], Awaitable[object]]) -> NoReturn:
        if not self.died.is_set():
            self.died.set()
            await save()
        await anyio.sleep_forever()
        raise AssertionError
