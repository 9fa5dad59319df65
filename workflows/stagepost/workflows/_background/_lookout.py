"""Waits that end by themselves: by the time, or with the run that they wait for."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from stagepost.checkpoint import CheckpointStore, CorruptRun, NewWait, OpenWait, RunNotFound, Wait, WaitKind

from ..errors import ChildElsewhere
from ._telling import Telling
from ._timers import Timers

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_PAGE = 200


class Lookout:
    """Ends such waits and wakes the runs that waited.

    Args:
        store: Where waits are kept.
        clock: Seconds since 1970.
        wake: Lets runs go on; called with their ids.
        spawn: Runs a function in the runner's task group.
        telling: Is told of what ends waits.
        log: Where failures are logged.
    """

    def __init__(
        self,
        store: CheckpointStore,
        clock: Callable[[], float],
        wake: Callable[..., Awaitable[None]],
        spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
        telling: Telling,
        *,
        log: "BoundLogger",
    ) -> None:
        self._store = store
        self._wake = wake
        self._spawn = spawn
        self._telling = telling
        self._timers = Timers(store, clock, wake, telling, log)
        self._children: set[str] = set()  # runs that others wait for

    async def expect(self, wait: NewWait) -> None:
        """A wait is about to be opened.

        Raises:
            ChildElsewhere: It is for a run that this store does not hold, so that nobody would hear of its end.
        """
        if wait.kind is WaitKind.CHILD:
            try:
                await self._store.info(wait.name)
            except RunNotFound:
                raise ChildElsewhere(wait.name) from None
            self._children.add(wait.name)

    async def opened(self, wait: Wait) -> None:
        """A wait was opened."""
        if wait.due_at is not None:
            self._timers.expect(wait.due_at)
            self._start()
        if wait.kind is WaitKind.CHILD:
            await self._look_after(wait.name)

    def is_awaited(self, run_id: str) -> bool:
        """Whether others wait for a run to end, so that `ended` has something to do."""
        return run_id in self._children

    async def ended(self, run_id: str) -> None:
        """A run has ended.

        Raises:
            StoreError: That could not be saved; it may be said again.
        """
        if self.is_awaited(run_id):
            await self._release(run_id)

    async def above(self, run_id: str) -> Collection[str]:
        """Ids of the runs that wait for another one, and of those that wait for these."""
        found: dict[str, None] = {}
        if run_id in self._children:
            waits = [wait async for wait in self._waits_for_runs()]
            below = {run_id}
            while below:
                above = [wait.run_id for wait in waits if wait.wait.name in below]
                below = {parent for parent in above if parent not in found}
                found.update(dict.fromkeys(above))
        return found

    async def recover(self) -> Mapping[str, CorruptRun]:
        """End the waits that nobody has ended while no runner was there, and look out from now on.

        Returns:
            Runs that others wait for, and of which nobody can say whether they have ended.
        """
        seen, damaged = set[str](), dict[str, CorruptRun]()
        async for wait in self._waits_for_runs():
            child = wait.wait.name
            if child not in seen:
                seen.add(child)
                self._children.add(child)
                try:
                    await self._look_after(child)
                except CorruptRun as error:
                    damaged[child] = error
        await self._timers.expire()
        self._start()
        return damaged

    async def _waits_for_runs(self) -> AsyncIterator[OpenWait]:
        after: str | None = None
        while True:
            page = await self._store.waits(kind=WaitKind.CHILD, after=after, limit=_PAGE)
            for wait in page.items:
                yield wait
            if (after := page.next) is None:
                return

    async def _look_after(self, child: str) -> None:
        """A child may have ended before anybody waited for it."""
        try:
            is_open = (await self._store.info(child)).status.is_open
        except RunNotFound:  # deleted since; asking it again says so
            is_open = False
        if not is_open:
            await self._release(child)  # also if its end has been heard of: that was before this wait was open

    async def _release(self, child: str) -> None:
        with self._telling.save():
            parents = await self._store.release(child)
        self._children.discard(child)
        await self._wake(*parents)

    def _start(self) -> None:
        if not self._timers.is_running:
            self._timers.is_running = True
            self._spawn(self._timers.run)
