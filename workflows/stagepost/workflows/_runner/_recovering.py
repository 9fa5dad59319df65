"""Taking up all that a process before this one has left open."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from stagepost.checkpoint import CorruptRun, RunInfo, RunNotFound, RunNotOpen, RunStatus, StoreError

from .._runs._blocked import own
from .._runs._compatibility import open_in
from .._runs._recovery import RecoveryNotes, RecoveryReport
from ..errors import RunLeftOpen, WorkflowError
from ._cancelling import Cancelling
from ._reception import Reception

_PAGE = 200  # runs read at once


class Recovering:
    """Goes through the open runs of a store.

    Args:
        reception: Where runs are taken up.
        cancelling: Ends those below a run that was cancelled.
        max_attempts: How often in a row a run may be recovered without a commit; None for no limit.
    """

    def __init__(self, reception: Reception, cancelling: Cancelling, max_attempts: int | None) -> None:
        self._reception = reception
        self._desk = reception.desk
        self._cancelling = cancelling
        self._max_attempts = max_attempts

    async def recover(self) -> RecoveryReport:
        """Take up each of them that can go on, and say what becomes of the others."""
        found = RecoveryNotes()
        await self._go_through(found, ends=True)  # first, since those that are taken up may wait for them
        await self._go_through(found, ends=False)
        await self._look_at_parked(found)
        for child, damage in (await self._desk.lookout.recover()).items():
            found.left_open.setdefault(child, damage)
        self._desk.left_open.report(found.left_open)
        self._desk.left_open.knows_all = True
        return found.report()

    async def _go_through(self, found: RecoveryNotes, *, ends: bool) -> None:
        """Take up what nobody works on, or do only what is to be ended."""
        async with aclosing(self._runs(RunStatus.RUNNING, found)) as runs:
            async for info in runs:
                if (info.cancelling or self._is_dead(info) or not ends) and await self._desk.find(info.run_id) is None:
                    await self._recover(info, found)

    def _is_dead(self, info: RunInfo) -> bool:
        return self._max_attempts is not None and info.attempts >= self._max_attempts

    async def _look_at_parked(self, found: RecoveryNotes) -> None:
        """See that those that rest could go on: nobody would hear otherwise before they are to, in a month perhaps."""
        async with aclosing(self._runs(RunStatus.WAITING, found)) as runs:
            async for info in runs:
                if info.owner != self._desk.means.owner:  # this runner has begun those, and knows them
                    await self._recover(info, found)

    async def _runs(self, status: RunStatus, found: RecoveryNotes) -> AsyncGenerator[RunInfo, None]:
        """All runs of a status, a page at a time; what cannot be read is noted."""
        after: str | None = None
        while True:
            page = await self._reception.store.find(status=status, after=after, limit=_PAGE)
            found.left_open |= {error.run_id: error for error in page.damaged}
            for info in page.items:
                yield info
            if (after := page.next) is None:
                return

    async def _recover(self, info: RunInfo, found: RecoveryNotes) -> None:
        try:
            if info.cancelling:  # whether its workflow is known or not
                await self._desk.endings.cancel(info.run_id)
                found.cancelled += [info.run_id, *await self._cancelling.cancel_below(info.run_id)]
            elif self._is_dead(info):
                found.dead[info.run_id] = await self._desk.endings.bury(info)
            elif info.status is RunStatus.RUNNING or await self._has_to_go_on(info):
                found.resumed.append(await self._reception.claim(info, recovering=True))
        except (RunNotOpen, RunNotFound):  # it has ended since
            return
        except StoreError:  # concerns all of them
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns this run, and others are to go on
            found.left_open[info.run_id] = _reason(info.run_id, error)

    async def _has_to_go_on(self, info: RunInfo) -> bool:
        """Whether a parked run is to be brought to another version, or rests though there is nothing that it waits for.

        Raises:
            WorkflowError: It could not go on.
            CorruptRun: It is not what was stored.
        """
        snapshot = await self._reception.store.load(info.run_id)
        prepared = self._reception.fitness.check(snapshot)
        return snapshot.run.status is RunStatus.WAITING and (prepared.migrated is not None or not open_in(snapshot))


def _reason(run_id: str, error: Exception) -> WorkflowError | CorruptRun:
    found = own(run_id, error)
    return found if isinstance(found, WorkflowError | CorruptRun) else RunLeftOpen(run_id, str(found))
