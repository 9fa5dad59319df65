"""Ending runs for good, with the runs that their steps have started.

Each wish is on disk before anything is interrupted, so that a process that is killed in the middle is followed by one
that ends what is left.
"""

from collections.abc import Sequence
from contextlib import suppress

import anyio

from stagepost.checkpoint import RunNotFound, RunNotOpen, RunStatus

from .._background._desk import Desk
from .._execution._children import below

_OPEN = (RunStatus.RUNNING, RunStatus.WAITING)


class Cancelling:
    """Ends open runs.

    Args:
        desk: Where they are worked on, if they are.
        patience: Seconds that those get to end by themselves.
    """

    def __init__(self, desk: Desk, patience: float) -> None:
        self._desk = desk
        self._store = desk.means.store
        self._patience = patience

    async def cancel(self, run_id: str) -> None:
        """End a run and all open ones below it.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        await self._store.cancel(run_id)
        await self._end([run_id, *await self._wished_below(run_id)])
        await self.cancel_below(run_id)

    async def cancel_below(self, run_id: str) -> Sequence[str]:
        """End the open runs below one that has ended; returns their ids."""
        ended: list[str] = []
        await self._desk.begun_below(run_id)
        while run_ids := await self._wished_below(run_id):
            await self._end(run_ids)
            ended += run_ids
            await self._desk.begun_below(run_id)
        return ended

    async def _wished_below(self, run_id: str) -> Sequence[str]:
        """Ask for the end of all open runs below one."""
        found, after = list[str](), None
        while True:
            page = await self._store.find(status=_OPEN, after=after)
            for child in [run.run_id for run in page.items if run.run_id.startswith(below(run_id))]:
                with suppress(RunNotOpen, RunNotFound):  # it has ended since
                    await self._store.cancel(child)
                    found.append(child)
            if (after := page.next) is None:
                return found

    async def _end(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            self._desk.interrupt(run_id)
        until = anyio.current_time() + self._patience
        for run_id in run_ids:
            await self._desk.end_asked(run_id, max(0, until - anyio.current_time()))
