"""Stores that play a crash: from the n-th commit on nothing is acknowledged any more."""

from collections.abc import Mapping

import anyio
from anyio import fail_after
from tests.workflows._words import PATIENCE

from stagepost.checkpoint import Commit, MemoryStore
from stagepost.workflows import Pattern, Runner, State


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
        if self._left is None:
            await super().commit(commit)
        elif self._left > 1:
            self._left -= 1
            await super().commit(commit)
        else:
            await self._die(commit)
        self.commits += 1

    async def _die(self, commit: Commit) -> None:
        if self._saves_last and not self.dead.is_set():
            self.dead.set()
            await super().commit(commit)  # before anybody can see that it is dead
        self.dead.set()
        await anyio.sleep_forever()


async def live(store: Mortal, workflow: Pattern, state: Mapping[str, object]) -> State | None:
    """One life of a process: start the run or go on with it, until the store dies (None) or the run ends."""
    result: State | None = None

    async def work(runner: Runner, scope: anyio.CancelScope) -> None:
        nonlocal result
        result = await (await runner.start(workflow, state, run_id="r1")).result()
        scope.cancel()

    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[workflow], grace=0) as runner, anyio.create_task_group() as group:
            group.start_soon(work, runner, group.cancel_scope)
            await store.dead.wait()
            group.cancel_scope.cancel()
    return result
