"""Who works on which run: those that are begun, claimed, in line, woken and cancelled."""

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any

import anyio
from anyio.abc import TaskGroup

from stagepost.checkpoint import (
    Lease,
    NewRun,
    RunInfo,
    RunNotOpen,
    RunStatus,
    Snapshot,
)
from stagepost.hub import get_logger

from .._answer import Answer
from .._bell import Bell
from .._engine._intermediates import Intermediate
from .._execution._children import Children, below, is_child
from .._lifespans import Lifespans
from .._patterns._pattern import Pattern
from .._runs._blocked import own
from .._runs._fitness import Fitness
from .._runs._migration import Definition
from .._runs._outcomes import Outcomes
from .._runs._recovery import open_waits
from .._runs._run import Run
from ..errors import RunCancelled, RunnerStopped
from ._claims import Claims
from ._endings import Endings
from ._left_open import LeftOpen
from ._line import Job, Line
from ._lookout import Lookout
from ._means import Means
from ._shift import Active, Shift
from ._telling import Telling


class Desk:
    """Has runs worked on in the tasks of one group, so that no caller's cancellation can lose one.

    Args:
        means: What they are executed with.
        group: Whose tasks work on them.
        fitness: Says which stored runs can go on.
        lifespans: What is open around them.
        children: Starts the runs that their steps want.
        slots: How many runs are worked on at once; None for no limit. More wait in line.
    """

    def __init__(
        self,
        means: Means,
        group: TaskGroup,
        fitness: Fitness,
        lifespans: Lifespans,
        children: Children,
        *,
        slots: int | None,
    ) -> None:
        self.means = means
        log = get_logger("workflows", mask=means.secrets.mask)
        self.outcomes = Outcomes(log)
        self.telling = Telling()
        self.lookout = Lookout(means.store, means.clock, self.wake, self._spawn, self.telling, log=log)
        self.endings = Endings(means, self.lookout, self.outcomes)
        self._store = means.store
        self._claims = Claims(means, self.endings, fitness)
        self._group = group
        self._fitness = fitness
        self._line = Line(slots)
        self._lifespans = lifespans
        self._shift = Shift(means, self.lookout, lifespans, children, self._left)
        self.left_open = LeftOpen(means, self.outcomes, self.lookout, self.works_on, self._spawn, log=log)
        self._beginning: list[str] = []  # ids of the runs that are being stored
        self._waking: list[str] = []  # ids of the runs that are about to go on
        self._stopping = False
        self._changed = Bell()
        self._claiming = anyio.Lock()

    async def begin(
        self,
        new: NewRun,
        workflow: Pattern,
        *,
        urgent: bool = False,
        intermediates: list[Intermediate] | None = None,
    ) -> tuple[Run | None, RunInfo]:
        """Store a new run and work on it, `urgent` or as soon as there is a slot; or what is stored in its place.

        Raises:
            StoreError: It could not be stored.
            RunnerStopped: The runner is being left.
        """
        if self._stopping:
            raise RunnerStopped(new.run_id)
        answer: Answer[tuple[Run | None, RunInfo]] = Answer()
        self._beginning.append(new.run_id)
        self._group.start_soon(self._begin, new, workflow, urgent, intermediates, answer)
        return await answer.get()

    async def take_up(
        self,
        run_id: str,
        definition: Definition,
        *,
        reopen: bool = False,
        recovering: bool = False,
        urgent: bool = False,
    ) -> Run:
        """Become the owner of a stored run and work on it, unless that is so already.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
            IncompatibleCheckpoint: Its workflow no longer has the place where it stands.
            RunCancelled: Its end had been asked for, and is committed now.
            LifespanFailed: What it needs could not be opened.
            RunnerStopped: The runner is being left.
        """
        urgent = urgent or is_child(run_id)  # its parent may wait for it, in a slot
        await self._lifespans.enter(definition.workflow.name, definition.workflow.lifespan)
        async with self._claiming:
            await self._begun(run_id)
            run = self._held(run_id, urgent=urgent)
            if run is not None:
                return run
            await self._claims.check(run_id)
            job = Job.of(run_id, definition, self.outcomes.of(run_id), recovering=recovering, reopened=reopen)
            if self._stopping:
                raise RunnerStopped(run_id)
            if not (reopen or urgent or self._line.has_room):
                self._line.join(job)
                return job.run
            snapshot, lease = await self._claim(job, reopen=reopen)
            has_slot = not urgent and self._line.enter()
            if has_slot or urgent:
                active = self._shift.enter(job, snapshot, lease, has_slot=has_slot)
                self._group.start_soon(self._shift.work, snapshot, active, True)
            else:
                self._line.join(job)
            return job.run

    async def find(self, run_id: str, *, urgent: bool = False) -> Run | None:
        """The run, if it is worked on here, or in line for it, or just being stored or woken by somebody else.

        Args:
            run_id: The run.
            urgent: Do not let it wait in line any longer.
        """
        await self._begun(run_id)
        while run_id not in self._shift.runs and run_id in self._waking:
            await self._changed.wait()
        return self._held(run_id, urgent=urgent)

    def works_on(self, run_id: str) -> bool:
        """Whether somebody works on a run at this moment."""
        return run_id in self._shift.runs

    @asynccontextmanager
    async def signalling(self, run_id: str) -> AsyncIterator[None]:
        """A signal is sent to a run: if it is worked on, its steps wait for that, and find it."""
        active = self._shift.runs.get(run_id)
        with nullcontext() if active is None else active.execution.signals.coming():
            yield
            await self._begun(run_id)
            if run_id in self._shift.runs:
                self._shift.runs[run_id].execution.signals.notice()

    async def find_woken(self, run_id: str) -> Run | None:
        """As `find`, if the store says that the run goes on: whoever has let it go on may not have said so yet."""
        await self.telling.over()
        return await self.find(run_id)

    async def _arrived(self, run_id: str) -> Active | None:
        """The run, if it is worked on, once nobody is about to take it up."""
        async with self._claiming:
            while self._line.is_moving(run_id):
                await self._changed.wait()
            return self._shift.runs.get(run_id)

    async def _begun(self, run_id: str) -> None:
        while run_id not in self._shift.runs and run_id in self._beginning:
            await self._changed.wait()

    def _held(self, run_id: str, *, urgent: bool) -> Run | None:
        active = self._shift.runs.get(run_id)
        if active is not None:
            return active.job.run
        job = self._line.pass_by(run_id) if urgent else None
        if job is not None:
            self._group.start_soon(self._take_turn, job, False)
            return job.run
        waiting = self._line.find(run_id)
        return None if waiting is None else waiting.run

    async def begun_below(self, run_id: str) -> None:
        """Wait until no run is just being stored that a step of another one has started, or a step of such a run."""
        while any(begun.startswith(below(run_id)) for begun in self._beginning):
            await self._changed.wait()

    def interrupt(self, run_id: str) -> None:
        """Cancel whatever a run does at this moment."""
        self._line.drop(run_id)
        if run_id in self._shift.runs:
            self._shift.runs[run_id].cancel()

    async def end_asked(self, run_id: str, patience: float) -> None:
        """End a run whose end has been asked for, whether it is worked on here or not.

        A run that is worked on here gets `patience` seconds to end by itself; then its end is committed over its head,
        and whatever it still does is fenced.
        """
        await self._begun(run_id)
        self._line.drop(run_id)
        active = await self._arrived(run_id)
        if active is not None:
            active.cancel()
            with anyio.move_on_after(patience):  # it ends, or had parked already
                while self._shift.runs.get(run_id) is active:
                    await self._changed.wait()
        if active is None or not active.job.outcome.is_known:
            await self.endings.cancel(run_id)
        outcome = self.outcomes.of(run_id) if active is None else active.job.outcome
        outcome.cancel(RunCancelled(run_id))

    async def wake(self, *run_ids: str) -> None:
        """Let runs go on of which a wait has ended; if one cannot, its handles are told why."""
        self._announce(run_ids)
        await self._wake_all(run_ids)

    def wake_soon(self, run_id: str) -> None:
        """The same for one run, without waiting for it."""
        self._announce([run_id])
        self._group.start_soon(self._wake_all, [run_id])

    def _announce(self, run_ids: Sequence[str]) -> None:
        self._waking += run_ids
        for run_id in run_ids:
            self.outcomes.of(run_id).go_on()

    async def _wake_all(self, run_ids: Sequence[str]) -> None:
        try:
            for run_id in run_ids:
                await self._wake(run_id)
        finally:
            for run_id in run_ids:
                self._waking.remove(run_id)
            self._notify()

    async def _wake(self, run_id: str) -> None:
        try:
            active = await self._arrived(run_id)  # what it was taken up with may be older than the news
            if active is not None:
                active.woken = True
                waits = (await self._store.load(run_id)).waits
                active.execution.hear(waits)  # which may have been made anew since
            elif self._line.find(run_id) is None:
                await self._take_up_again(run_id)
        except RunNotOpen:  # it has ended since
            return
        except Exception as error:  # noqa: BLE001  # whatever it is, it concerns this run, and others are to go on
            self.left_open.leave(run_id, own(run_id, error))

    async def watch(self) -> None:
        """When the store takes nothing more, tell all who wait for runs that nobody works on.

        Those that are worked on meet the store themselves, at their next commit.
        """
        failure = await self._store.failure()
        self.left_open.lose(failure)
        self._line.close(lambda _: failure)
        self.outcomes.close(lambda _: failure, but=self._shift.runs)

    async def finish(self, grace: float) -> None:
        """Start no further step and wait for those under way, at most `grace` seconds."""
        self._stopping = True
        self.left_open.stop()
        self._line.close(RunnerStopped)
        self._shift.stop()
        with anyio.move_on_after(grace):
            while self._shift.runs or self._beginning or self._line.has_moving:
                await self._changed.wait()
        self.outcomes.close(RunnerStopped, but=self._shift.runs)

    async def _begin(
        self,
        new: NewRun,
        workflow: Pattern,
        urgent: bool,  # noqa: FBT001  # passed by start_soon, which knows no keywords
        intermediates: list[Intermediate] | None,
        answer: Answer[tuple[Run | None, RunInfo]],
    ) -> None:
        try:
            lease, info = await self._store.create(new)
            snapshot = Snapshot(info, {"": new.root})
            if lease is not None and new.continued:  # the store says whose lists its own are
                snapshot = await self._store.load(new.run_id)
        except Exception as error:  # noqa: BLE001  # of whoever starts it, and of no other run
            answer.fail(error)
            return
        except BaseException:  # somebody waits for the answer, whatever happens
            answer.fail(RunnerStopped(new.run_id))
            raise
        finally:
            self._beginning.remove(new.run_id)
            self._notify()
        if lease is None:
            answer.give((None, info))
            return
        job = Job.of(new.run_id, Definition(workflow), self.outcomes.of(new.run_id))
        job.outcome.intermediates = intermediates
        has_slot = not urgent and self._line.enter()
        if not has_slot and not urgent:
            self._line.join(job)
            answer.give((job.run, info))
            return
        active = self._shift.enter(job, snapshot, lease, has_slot=has_slot)
        answer.give((job.run, info))
        await self._shift.work(snapshot, active, recovered=False)

    async def _take_up_again(self, run_id: str) -> None:
        info = await self._store.info(run_id)
        if info.status is RunStatus.RUNNING:
            with suppress(RunCancelled):
                await self.take_up(run_id, self._fitness.definition_of(info))
        elif info.status is RunStatus.WAITING:  # what has come is not what it waits for
            self.outcomes.park(run_id, open_waits(await self._store.load(run_id)))

    async def _claim(self, job: Job, *, reopen: bool = False) -> tuple[Snapshot, Lease]:
        claimed = await self._claims.claim(job, reopen=reopen)
        self.left_open.forget(job.run_id)
        if self._stopping:
            raise RunnerStopped(job.run_id)
        return claimed

    async def _take_turn(self, job: Job, has_slot: bool) -> None:  # noqa: FBT001  # as above
        """Work on a run that was in line."""
        try:
            await self._claims.check(job.run_id)
            snapshot, lease = await self._claim(job)
            active = self._shift.enter(job, snapshot, lease, has_slot=has_slot)
        except BaseException as error:
            self._give_up(job, error, has_slot=has_slot)
            if isinstance(error, Exception):
                return
            raise
        finally:
            self._line.arrive(job.run_id)
            self._notify()
        await self._shift.work(snapshot, active, recovered=True)

    def _give_up(self, job: Job, error: BaseException, *, has_slot: bool) -> None:
        if isinstance(error, RunCancelled):
            job.outcome.cancel(error)
        else:
            why = own(job.run_id, error) if isinstance(error, Exception) else RunnerStopped(job.run_id)
            job.outcome.leave(why)
            self.left_open.leave(job.run_id, why)
        if has_slot:
            self._line.exit()
            self._move_up()

    def _left(self, active: Active) -> None:
        if active.woken and active.execution.parked:  # by somebody who came when it rested and was still known here
            self.wake_soon(active.job.run_id)
        self.outcomes.rest(active.job.run_id, active.job.outcome)
        self.left_open.left(active)
        if active.has_slot:
            self._line.exit()
        self._notify()
        self._move_up()

    def _move_up(self) -> None:
        while not self._stopping and (job := self._line.next()) is not None:
            self._group.start_soon(self._take_turn, job, True)

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._group.start_soon(work)

    def _notify(self) -> None:
        self._changed.ring()
