"""Taking up all that no living owner has."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field
from functools import partial

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CorruptRun, Page, RunInfo, RunNotFound, RunNotOpen, RunOwned, RunStatus, StoreError

from .._runs._compatibility import left_open, open_in
from .._runs._fitness import Fitness, end_of
from ..errors import RunDead, WorkflowError
from ._dispatcher import Dispatcher
from ._run import Run
from ._stay import Stay

_PAGE = 200  # runs read at once


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What `Runner.recover` found.

    Attributes:
        resumed: Runs that go on now.
        left_open: Runs that do not, by id, with the reason.
        cancelled: Ids of runs whose end had been asked for and is committed now.
        dead: Runs that were recovered too often without getting anywhere, by id, with the reason.
    """

    resumed: Sequence[Run] = ()
    left_open: Mapping[str, WorkflowError | CorruptRun] = field(default_factory=dict)
    cancelled: Sequence[str] = ()
    dead: Mapping[str, WorkflowError] = field(default_factory=dict)


@dataclass(slots=True)
class _Notes:
    """What becomes a `RecoveryReport`; see there."""

    resumed: list[Run] = field(default_factory=list)
    left_open: dict[str, WorkflowError | CorruptRun] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    dead: dict[str, WorkflowError] = field(default_factory=dict)


class Recovery:
    """Goes through the open runs of a store.

    Args:
        dispatcher: Where runs are taken up.
        fitness: Says which of them can go on.
        max_attempts: How often in a row a run's process may die without a commit of the run; None for no limit.
    """

    def __init__(self, dispatcher: Dispatcher, fitness: Fitness, max_attempts: int | None) -> None:
        self._dispatcher = dispatcher
        self._store = dispatcher.store
        self._fitness = fitness
        self._max_attempts = max_attempts

    async def recover(self) -> RecoveryReport:
        """Take up each of them that can go on, and say what becomes of the others."""
        found = _Notes()
        going_on: list[RunInfo] = []
        async with aclosing(self._unowned(found)) as runs:
            async for info in runs:
                if end_of(info, self._max_attempts) is not None:  # first, since others may wait for them
                    await self._recover(info, found)
                else:
                    going_on.append(info._replace(input=b""))
        for info in going_on:
            await self._recover(info, found)
        await self._look_at_parked(found)
        for child, damage in (await self._dispatcher.watcher.recover()).items():
            found.left_open.setdefault(child, left_open(child, damage))
        await self._dispatcher.claims.report(found.left_open)
        return RecoveryReport(tuple(found.resumed), found.left_open, tuple(found.cancelled), found.dead)

    async def _unowned(self, found: _Notes) -> AsyncGenerator[RunInfo, None]:
        """Running runs that no living owner has, and those of this one that nobody here works on."""
        owner = self._dispatcher.claims.owner
        acquired = set[str]()
        async with aclosing(_pages(partial(self._store.acquire, owner, limit=_PAGE), found)) as runs:
            async for info in runs:
                acquired.add(info.run_id)
                if await self._is_unheld(info):
                    yield info
        async with aclosing(_pages(partial(self._store.find, status=RunStatus.RUNNING, limit=_PAGE), found)) as runs:
            async for info in runs:
                if info.owner == owner.id and info.run_id not in acquired and await self._is_unheld(info):
                    yield info

    async def _is_unheld(self, info: RunInfo) -> bool:
        """Whether nobody here works on a run, or is about to; who is about to may find that it cannot go on."""
        while (record := self._dispatcher.presence.find(info.run_id)) is not None and record.stay is Stay.CLAIMING:
            await record.changed()
        return record is None

    async def _look_at_parked(self, found: _Notes) -> None:
        """See that those that rest could go on: nobody would hear otherwise before they are to, in a month perhaps."""
        async with aclosing(_pages(partial(self._store.find, status=RunStatus.WAITING, limit=_PAGE), found)) as runs:
            async for info in runs:
                await self._recover(info, found)

    async def _recover(self, info: RunInfo, found: _Notes) -> None:
        end = end_of(info, self._max_attempts)  # whether its workflow is known or not
        try:
            if isinstance(end, RunDead):
                found.dead[info.run_id] = await self._dispatcher.claims.bury(info)
            elif end is not None:
                await self._dispatcher.claims.cancel(info.run_id)
                found.cancelled.append(info.run_id)
            elif info.status is RunStatus.RUNNING or await self._has_to_go_on(info):
                found.resumed.append(await self._dispatcher.take_up(info))
        except (RunNotOpen, RunNotFound, RunOwned):  # it has ended since, or another one has it
            return
        except StoreError:  # concerns all of them
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns this run, and others are to go on
            found.left_open[info.run_id] = left_open(info.run_id, error)

    async def _has_to_go_on(self, info: RunInfo) -> bool:
        """Whether a parked run is to be brought to another version, or rests though there is nothing that it waits for.

        Raises:
            WorkflowError: It could not go on.
            CorruptRun: It is not what was stored.
        """
        if info.blocked is None and self._fitness.is_known(info):
            return not (await self._store.waits(run_id=info.run_id, limit=1)).items
        snapshot = await self._store.load(info.run_id)
        prepared = self._fitness.check(snapshot)
        if info.blocked is not None:
            await self._dispatcher.claims.unblock(info.run_id)
        return snapshot.run.status is RunStatus.WAITING and (prepared.migrated is not None or not open_in(snapshot))


async def _pages(read: Callable[..., Awaitable[Page[RunInfo]]], found: _Notes) -> AsyncGenerator[RunInfo, None]:
    """All runs, a page at a time; what cannot be read is noted."""
    after: str | None = ""
    while after is not None:
        page = await read(after=after)
        for info in page.items:
            yield info
        for error in page.damaged:
            if error.run_id is not None:
                found.left_open[error.run_id] = left_open(error.run_id, error)
        after = page.next
