"""Where runs are asked for: attached to, taken up, and by others started and cancelled."""

from collections.abc import Sequence
from contextlib import suppress

import anyio

from stagepost.checkpoint import (
    RunInfo,
    RunNotOpen,
    RunStatus,
    Snapshot,
)

from .._answer import Answer
from .._execution._environment import Environment
from .._ids import is_child
from .._lifespans import Lifespans
from .._patterns._pattern import Pattern
from .._runs._fitness import Fitness
from .._runs._forking import ForkOrder
from .._runs._starting import Order, check_same, check_workflow
from ..errors import RunCancelled, RunConflict, RunnerStopped
from ._cancelling import Canceller
from ._claims import Claims
from ._executor import Executor
from ._forker import Forker
from ._presence import Presence
from ._record import Record
from ._run import Run, handle_of, stored_handle
from ._scheduler import Scheduler
from ._starter import Start, Starter
from ._stay import Stay
from ._timers import Timers
from ._watcher import Watcher


class Dispatcher:
    """Finds the runs that are asked for, or has them made, and has them worked on.

    Attributes:
        store: Where they are kept.
        registry: Their definitions.
        lists: Their lists that are in memory.
        presence: Where they are in this process.
        claims: What owns them.
        watcher: Hears what is written for them.
        starter: Makes new ones.
        forker: Makes new ones of others.

    Args:
        environment: What they are executed with.
        fitness: Says which of those that are stored can go on.
        lifespans: What is open around them.
        presence: See above.
        claims: See above.
        watcher: See above.
    """

    def __init__(  # noqa: PLR0917  # all that it works with, each of another type
        self,
        environment: Environment,
        fitness: Fitness,
        lifespans: Lifespans,
        presence: Presence,
        claims: Claims,
        watcher: Watcher,
    ) -> None:
        self.store = environment.store
        self.registry = fitness.registry
        self.lists = environment.lists
        self.presence = presence
        self.claims = claims
        self.watcher = watcher
        self.starter = Starter(environment, lifespans, presence, claims)
        self.forker = Forker(environment, fitness, claims, self.starter)
        self._canceller = Canceller(self.store, self.starter, presence, claims, watcher)
        self._fitness = fitness
        self._lifespans = lifespans
        self._stopping = False
        self._executor: Executor
        self._scheduler: Scheduler

    def use(self, executor: Executor, scheduler: Scheduler) -> None:
        """Have runs worked on by these, which start the runs that steps want by this."""
        self._executor, self._scheduler = executor, scheduler
        self.starter.use(scheduler)

    @property
    def timers(self) -> Sequence[Timers]:
        """What looks at the clock for the runs."""
        return [self.watcher.timers, *([] if self._scheduler.timers is None else [self._scheduler.timers])]

    async def rest(self) -> bool:
        """Wait until no run is worked on; returns whether one was."""
        was_idle = self._is_idle()
        await self.presence.until(self._is_idle)
        return not was_idle

    def _is_idle(self) -> bool:
        return self._scheduler.is_idle and self.presence.is_idle()

    async def open_lines(self) -> None:
        """Have runs go on whose limit per minute has places again."""
        if self._scheduler.timers is not None:
            await self._scheduler.timers.begin()

    async def prepare(self, workflow: Pattern) -> None:
        """Open what the runs of a workflow need.

        Raises:
            LifespanFailed: It could not be opened.
        """
        await self._lifespans.enter(workflow.name, workflow.lifespan)

    async def start(self, workflow: Pattern, state: Start, order: Order) -> Run:
        """Start a run, or attach to the one that has its id or key.

        Raises:
            RunForgotten: That one was deleted by retention.
            RunnerStopped: The runner is being left.
        """
        run, info, new = await self.starter.start(workflow, state, order)
        if run is not None:
            return run
        check_workflow(info, workflow.name)
        if not order.any_input:
            check_same(info, new)
        return await self.attach(info, urgent=order.urgent)

    async def fork(self, run_id: str, order: ForkOrder) -> Run:
        """Fork a run, or attach to the fork that has the id.

        Raises:
            RunConflict: Another run has it.
            WorkflowError: The run cannot be forked so.
            CheckpointError: It cannot be read, or the fork not stored.
        """
        run, info, new = await self.forker.fork(run_id, order)
        if run is not None:
            return run
        is_same = order.number is None or info.forked_at == order.number
        if info.forked_from != run_id or not is_same:
            raise RunConflict(info.run_id, f"origin: it is no fork of {run_id!r} at this point")
        check_same(info, new)
        return await self.attach(info)

    async def cancel(self, run_id: str, patience: float) -> None:
        """End a run and all open ones below it; those that are executed get some seconds to end by themselves.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        await self._canceller.cancel(run_id, patience)

    # attaching

    async def attach(self, info: RunInfo, *, claim: bool = True, urgent: bool = False) -> Run:
        """A handle of a stored run, whatever its status.

        Args:
            info: The run.
            claim: Whether to take it up, if nobody works on it.
            urgent: Whether it takes no slot.

        Raises:
            WorkflowError: It cannot go on (with `claim`; otherwise its handle says so).
        """
        run = await self.find(info.run_id, urgent=urgent)
        if run is not None:
            return run
        snapshot = await self.store.load(info.run_id)  # somebody may have answered it since `info` was read
        if snapshot.run.status is RunStatus.RUNNING:
            with suppress(RunNotOpen, RunCancelled):  # it has ended since
                if claim:
                    return await self.take_up(snapshot.run, urgent=urgent)
                if snapshot.run.owner is None and snapshot.run.news > snapshot.run.heard:
                    return self._freed(snapshot.run)
            snapshot = await self.store.load(info.run_id)
        reason = self._reason(snapshot) if snapshot.run.status.is_open else None
        if reason is not None and claim:
            raise reason
        run = await self.find(info.run_id, urgent=urgent)
        if run is not None:
            return run
        return stored_handle(snapshot, self.registry, self.presence, reason)

    async def find(self, run_id: str, *, urgent: bool = False) -> Run | None:
        """The handle of a run that is in this process."""
        record = await self.starter.arrived(run_id)
        if record is None:
            return None
        if urgent:
            self._scheduler.hasten(record)
        return handle_of(record)

    def is_executed(self, run_id: str) -> bool:
        """Whether a task works on a run at this moment."""
        record = self.presence.find(run_id)
        return record is not None and record.stay is Stay.RUNNING

    def in_line(self, run_id: str) -> str | None:
        """The limit for which a run waits in line, as text."""
        record = self.presence.find(run_id)
        return None if record is None or record.line is None else str(record.line.limit)

    def _freed(self, info: RunInfo) -> Run:
        """A run that goes on, as the store is about to tell."""
        record = self.presence.find(info.run_id)
        if record is None:
            record = self.presence.begin(info.run_id, info.workflow, Stay.QUEUED)
            self._scheduler.know(record, info)
            self._scheduler.submit(record)
        return handle_of(record)

    def _reason(self, snapshot: Snapshot) -> BaseException | None:
        """Why a run that nobody works on cannot go on, or was not gone on with."""
        reason = self._fitness.reason(snapshot)
        return self.claims.reason(snapshot.run) if reason is None else reason

    # taking up

    async def take_up(self, info: RunInfo, *, reopen: bool = False, urgent: bool = False) -> Run:
        """Work on a stored run, unless that is so already.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
            IncompatibleCheckpoint: Its workflow no longer has the place where it stands.
            RunCancelled: Its end had been asked for, and is committed now.
            LifespanFailed: What it needs could not be opened.
            RunnerStopped: The runner is being left.
        """
        run_id, urgent = info.run_id, urgent or is_child(info.run_id)  # its parent may wait for it, in a slot
        definition = self._fitness.definition_of(info)
        if (run := await self._going_on(run_id, urgent=urgent)) is not None:
            return run
        await self._lifespans.enter(definition.workflow.name, definition.workflow.lifespan)
        snapshot, _ = await self.claims.check(run_id)
        if (run := await self._going_on(run_id, urgent=urgent)) is not None:
            return run
        if self._stopping:
            raise RunnerStopped(run_id)
        if not (snapshot.run.status.is_open or reopen):
            raise RunNotOpen(run_id, snapshot.run.status)
        if (parked := self.presence.find(run_id)) is not None:
            parked.must_go_on, parked.urgent = True, urgent
            self._scheduler.free(parked)
            return handle_of(parked)
        record = self.presence.begin(run_id, snapshot.run.workflow, Stay.CLAIMING if reopen else Stay.QUEUED)
        record.must_go_on, record.reopened, record.urgent = True, reopen, urgent
        self._scheduler.know(record, snapshot.run)
        run = handle_of(record)
        if reopen:
            answer: Answer[None] = Answer()
            self._scheduler.spawn(self._reopen, record, answer)
            await answer.get()
        else:
            self._scheduler.submit(record)
            await self._claimed(record)
        return run

    async def _going_on(self, run_id: str, *, urgent: bool) -> Run | None:
        """The handle of a run that is in this process and does not rest."""
        record = await self.starter.arrived(run_id)
        if record is None or record.stay is Stay.PARKED:
            return None
        if urgent:
            self._scheduler.hasten(record)
        await self._claimed(record)
        return handle_of(record)

    async def _claimed(self, record: Record) -> None:
        """Wait while a run is claimed, and raise what hinders that."""
        while record.stay is Stay.CLAIMING:
            await record.changed()
        if record.refused is not None:
            raise record.refused

    async def _reopen(self, record: Record, answer: Answer[None]) -> None:
        """Claim a run now, whether there is a slot for it or not: from then on it is open."""
        try:
            claimed = await self._executor.claim(record)
        except BaseException as error:
            self.presence.lose(record, error if isinstance(error, Exception) else RunnerStopped(record.run_id))
            answer.fail(error if isinstance(error, Exception) else RunnerStopped(record.run_id))
            if isinstance(error, Exception):
                return
            raise
        assert claimed is not None  # noqa: S101  # it must go on
        await self._scheduler.admit(record, *claimed, lambda: answer.give(None), recovered=True)

    # leaving

    async def finish(self, grace: float) -> None:
        """Start no further step and wait for those under way, at most `grace` seconds."""
        self._stopping = self.claims.is_leaving = True
        self.starter.stop()
        self._executor.stop()
        self.presence.close(RunnerStopped)
        with anyio.move_on_after(grace):
            await self.presence.until(self._is_idle)
