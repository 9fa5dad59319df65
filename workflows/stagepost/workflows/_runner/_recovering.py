"""Taking up all that a process before this one has left open."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from stagepost.checkpoint import CorruptRun, RunInfo, RunNotOpen, RunStatus

from .._background._desk import Desk
from .._runs._recovery import RecoveryNotes, RecoveryReport
from .._runs._registry import Registry
from .._runs._run import Run
from ..errors import WorkflowError
from ._cancelling import Cancelling

_PAGE = 200  # runs read at once


class Claim(Protocol):
    """Takes up one run."""

    async def __call__(self, info: RunInfo, *, recovering: bool) -> Run: ...


class Recovering:
    """Goes through the open runs of a store.

    Args:
        desk: Where runs are worked on.
        registry: Their definitions.
        claim: Takes up one of them.
        cancelling: Ends those below a run that was cancelled.
        max_attempts: How often in a row a run may be recovered without a commit; None for no limit.
    """

    def __init__(
        self, desk: Desk, registry: Registry, claim: Claim, cancelling: Cancelling, max_attempts: int | None
    ) -> None:
        self._desk = desk
        self._registry = registry
        self._claim = claim
        self._cancelling = cancelling
        self._max_attempts = max_attempts

    async def recover(self) -> RecoveryReport:
        """Take up each of them that can go on, and say what becomes of the others."""
        found = RecoveryNotes()
        await self._go_through(found, ends=True)  # first, since those that are taken up may wait for them
        await self._go_through(found, ends=False)
        if self._registry.migrates:
            async with aclosing(self._runs(RunStatus.WAITING, found)) as runs:
                async for info in runs:
                    if self._registry.is_outdated(info):
                        await self._recover(info, found)
        await self._desk.lookout.recover()
        return found.report()

    async def _go_through(self, found: RecoveryNotes, *, ends: bool) -> None:
        """Take up what nobody works on, or do only what is to be ended."""
        async with aclosing(self._runs(RunStatus.RUNNING, found)) as runs:
            async for info in runs:
                if (info.cancelling or self._is_dead(info) or not ends) and await self._desk.find(info.run_id) is None:
                    await self._recover(info, found)

    def _is_dead(self, info: RunInfo) -> bool:
        return self._max_attempts is not None and info.attempts >= self._max_attempts

    async def _runs(self, status: RunStatus, found: RecoveryNotes) -> AsyncGenerator[RunInfo, None]:
        """All runs of a status, a page at a time; what cannot be read is noted."""
        after, damaged, find = "", list[CorruptRun](), self._desk.means.store.find
        while page := await find(status=status, after=after, limit=_PAGE, damaged=damaged):
            for info in page:
                yield info
            after = page[-1].run_id
        found.left_open |= {error.run_id: error for error in damaged}

    async def _recover(self, info: RunInfo, found: RecoveryNotes) -> None:
        try:
            if info.cancelling:  # whether its workflow is known or not
                await self._desk.endings.cancel(info.run_id)
                found.cancelled += [info.run_id, *await self._cancelling.cancel_below(info.run_id)]
            elif self._is_dead(info):
                found.dead[info.run_id] = await self._desk.endings.bury(info)
            else:
                found.resumed.append(await self._claim(info, recovering=True))
        except RunNotOpen:  # it has ended since
            return
        except (WorkflowError, CorruptRun) as error:
            found.left_open[info.run_id] = error
