"""Stores that play a crash: from the n-th commit on nothing is acknowledged any more."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import NoReturn, Protocol, TypeVar

import anyio
from anyio import fail_after
from tests.workflows._words import PATIENCE

from stagepost.checkpoint import Commit, Keep, Lease, MemoryStore, NewWait, StoredWait
from stagepost.hub import Event
from stagepost.workflows import Pattern, Runner, State

T = TypeVar("T")


class Mortal(MemoryStore):
    """A store that lives for a number of commits; its contents survive."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0
        self.revive(None)

    def revive(self, commits: int | None, *, saves_last: bool = True) -> None:
        """Live for some commits, or for ever. The last is saved or not, and nobody hears of it."""
        self._left = commits
        self._saves_last = saves_last
        self.dead = anyio.Event()

    async def commit(self, commit: Commit) -> None:
        await self._save(partial(super().commit, commit))

    async def wait(self, lease: Lease, wait: NewWait) -> StoredWait:
        return await self._save(partial(super().wait, lease, wait))

    async def park(self, lease: Lease, heard: int) -> bool:
        return await self._save(partial(super().park, lease, heard))

    async def _save(self, save: Callable[[], Awaitable[T]]) -> T:
        if self._left is None:
            result = await save()
        elif self._left > 1:
            self._left -= 1
            result = await save()
        else:
            await self._die(save)
        self.commits += 1
        return result

    async def _die(self, save: Callable[[], Awaitable[object]]) -> NoReturn:
        if self._saves_last and not self.dead.is_set():
            self.dead.set()
            await save()  # before anybody can see that it is dead
        self.dead.set()
        await anyio.sleep_forever()
        raise AssertionError


class Helper(Protocol):
    """Whoever answers what runs wait for."""

    def on_event(self, event: Event, /) -> None: ...

    async def serve(self, runner: Runner, run_ids: Collection[str], /) -> None: ...


async def live(
    store: Mortal,
    workflow: Pattern,
    state: Mapping[str, object],
    *,
    run_id: str = "r1",
    outside: Helper | None = None,
    deps: object = None,
    keep: Keep = Keep.RESULT,
) -> State | None:
    """One life of a process: start the run or go on with it, until the store dies (None) or the run ends."""
    result: State | None = None

    async def work(runner: Runner, scope: anyio.CancelScope) -> None:
        nonlocal result
        run = await runner.start(workflow, state, run_id=run_id)
        if outside is not None:
            group.start_soon(outside.serve, runner, {run_id})
            await runner.recover()
        result = await run.result()
        scope.cancel()

    with fail_after(PATIENCE):
        async with (
            store,
            Runner(
                store, workflows=[workflow], grace=0, max_attempts=None, observer=outside, deps=deps, keep=keep
            ) as runner,
            anyio.create_task_group() as group,
        ):
            group.start_soon(work, runner, group.cancel_scope)
            await store.dead.wait()
            group.cancel_scope.cancel()
    return result
