"""Ending runs for good, with those below them."""

from collections.abc import Sequence

import anyio

from stagepost.checkpoint import CheckpointStore, OwnershipLost, RunStatus

from ._claims import Claims
from ._presence import Presence
from ._starter import Starter
from ._stay import Stay
from ._watcher import Watcher

_OPEN = (RunStatus.RUNNING, RunStatus.WAITING)


class Canceller:
    """Requests the end of runs, and sees that they end.

    Args:
        store: Where they are kept.
        starter: Knows which are about to be stored.
        presence: Where they are in this process.
        claims: Commits the end of those that do not end by themselves.
        watcher: Cancels those that are executed.
    """

    def __init__(  # all that it works with, each of another type
        self, store: CheckpointStore, starter: Starter, presence: Presence, claims: Claims, watcher: Watcher
    ) -> None:
        self._store = store
        self._starter = starter
        self._presence = presence
        self._claims = claims
        self._watcher = watcher

    async def cancel(self, run_id: str, patience: float) -> None:
        """End a run and all open ones below it; those that are executed get some seconds to end by themselves.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        await self._starter.arrived(run_id)
        await self._store.cancel(run_id)
        await self._end([run_id, *[record.run_id for record in self._presence.below(run_id)]], patience)
        while run_ids := await self._open_below(run_id):
            await self._end(run_ids, patience)

    async def _open_below(self, run_id: str) -> Sequence[str]:
        found, after = list[str](), None
        await self._starter.arrived_below(run_id)
        while True:
            page = await self._store.find(status=_OPEN, below=run_id, after=after)
            found += [run.run_id for run in page.items]
            if (after := page.next) is None:
                return found

    async def _end(self, run_ids: Sequence[str], patience: float) -> None:
        records = {run_id: self._presence.find(run_id) for run_id in run_ids}
        for run_id, record in records.items():
            if record is not None:
                self._watcher.cancel(run_id)
        with anyio.move_on_after(patience):
            await self._presence.until(lambda: all(record is None or record.is_over for record in records.values()))
        for run_id, record in records.items():
            if record is None or not (record.stay is Stay.ENDED or isinstance(record.left_with, OwnershipLost)):
                await self._claims.cancel(run_id)
