"""Ends that are committed over the head of whoever works on a run."""

from contextlib import suppress

from stagepost.checkpoint import Closing, Commit, OwnershipLost, RunInfo, RunNotOpen, RunStatus

from .._pattern_errors import describe
from .._runs._outcomes import Outcomes
from ..errors import RunDead
from ._lookout import Lookout
from ._means import Means


class Endings:
    """Ends runs from outside, and tells whoever waits for them.

    Args:
        means: Where they are stored.
        lookout: Is told of runs that have ended.
        outcomes: What the handles of runs wait for.
    """

    def __init__(self, means: Means, lookout: Lookout, outcomes: Outcomes) -> None:
        self._means = means
        self._lookout = lookout
        self._outcomes = outcomes

    async def cancel(self, run_id: str) -> None:
        """Commit the end of a run that somebody has cancelled, unless it has ended by itself."""
        with suppress(RunNotOpen):
            await self._close(run_id, Closing(RunStatus.CANCELLED))

    async def bury(self, info: RunInfo) -> RunDead:
        """Commit that a run is not taken up any more; returns why.

        Raises:
            RunNotOpen: It has ended since.
        """
        error = RunDead(info.run_id, info.attempts)
        await self._close(info.run_id, Closing(RunStatus.DEAD, describe(error)))
        self._outcomes.of(info.run_id).bury(error)
        return error

    async def _close(self, run_id: str, closing: Closing) -> None:
        """Commit an end, and tell whoever waits for it; also of an end that the run has come to by itself.

        Raises:
            RunNotOpen: It has.
        """
        try:
            await self._commit(run_id, closing)
        except RunNotOpen:
            await self._lookout.ended(run_id)
            raise
        await self._lookout.ended(run_id)

    async def _commit(self, run_id: str, closing: Closing) -> None:
        store = self._means.store
        while True:
            try:
                lease = await store.claim(run_id, self._means.owner)
                await store.commit(Commit(lease=lease, closing=closing))
            except OwnershipLost:  # somebody else here has claimed it in between, to end it or to go on with it
                continue
            return
