"""The runs that a runner works on, from their first commit or claim to their end."""

from contextlib import suppress
from typing import Any, NamedTuple

import anyio
from anyio.abc import TaskGroup

from stagepost.checkpoint import (
    CheckpointError,
    CheckpointStore,
    Closing,
    Commit,
    Lease,
    NewRun,
    RunInfo,
    RunNotOpen,
    RunStatus,
    Snapshot,
)
from stagepost.hub import Emitter, Hub

from ._branch import Branch
from ._engine import observed
from ._execution import Execution, Journal, Stopping
from ._pattern import Pattern
from ._recovery import check_compatible
from ._run import Outcome, Run
from .errors import RunCancelled, RunFailed, RunnerStopped, WorkflowError, describe


class Desk:
    """Works on runs in the tasks of one group, so that no caller's cancellation can lose one.

    Args:
        store: Where runs are kept.
        group: Whose tasks work on them.
        owner: Name of the runner in the store.
        emitter: Where events go.
        hub: Where steps ask agents.
        deps: Given to steps.
    """

    def __init__(
        self,
        store: CheckpointStore,
        group: TaskGroup,
        owner: str,
        *,
        emitter: Emitter,
        hub: Hub | None,
        deps: Any,
    ) -> None:
        self.owner = owner
        self._store = store
        self._group = group
        self._emitter = emitter
        self._hub = hub
        self._deps = deps
        self._active: dict[str, _Active] = {}
        self._beginning: list[str] = []  # ids of the runs that are being stored
        self._stopping = False
        self._changed = anyio.Event()
        self._claiming = anyio.Lock()

    async def begin(self, new: NewRun, workflow: Pattern) -> tuple[Run | None, RunInfo]:
        """Store a new run and work on it; or no run, and what is stored in its place.

        Raises:
            StoreError: It could not be stored.
        """
        answer = _Answer()
        self._beginning.append(new.run_id)
        self._group.start_soon(self._begin, new, workflow, answer)
        return await answer.get()

    async def claim(self, run_id: str, workflow: Pattern, *, reopen: bool = False) -> Run:
        """Become the owner of a stored run and work on it, unless that is so already.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
            IncompatibleCheckpoint: Its workflow no longer has the place where it stands.
            RunCancelled: Its end had been asked for, and is committed now.
            RunnerStopped: The runner is being left.
        """
        async with self._claiming:
            run = await self.find(run_id)
            if run is not None:
                return run
            snapshot = await self._store.load(run_id)
            if snapshot.run.cancelling and snapshot.run.status is RunStatus.RUNNING:
                await self.end(run_id)
                raise RunCancelled(run_id)
            check_compatible(snapshot, workflow.program)  # or it stays as it is
            lease = await self._store.claim(run_id, self.owner, reopen=reopen)
            snapshot = await self._store.load(run_id)
            if self._stopping:
                raise RunnerStopped(run_id)
            active = self._activate(snapshot, lease)
            self._group.start_soon(self._work, snapshot, workflow, active, True)
            return active.run

    async def find(self, run_id: str) -> Run | None:
        """The run, if it is worked on here, or is just being stored by somebody else's `begin`."""
        while run_id not in self._active and run_id in self._beginning:
            await self._changed.wait()
        active = self._active.get(run_id)
        return None if active is None else active.run

    async def cancel(self, run_id: str, patience: float) -> None:
        """End an open run, whether it is worked on here or not.

        A run that is worked on here gets `patience` seconds to end by itself; then its end is committed over its head,
        and whatever it still does is fenced.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        await self._store.cancel(run_id)
        active = self._active.get(run_id)
        if active is not None:
            active.execution.scope.cancel()
            with anyio.move_on_after(patience):
                await active.outcome.ended()
        if active is None or not active.outcome.is_known:
            await self.end(run_id)
        if active is not None:
            active.outcome.cancel(RunCancelled(run_id))

    async def end(self, run_id: str) -> None:
        """Commit the end of a run that somebody has cancelled, over the head of whoever works on it."""
        with suppress(RunNotOpen):  # it has ended by itself
            lease = await self._store.claim(run_id, self.owner)
            await self._store.commit(Commit(lease=lease, closing=Closing(RunStatus.CANCELLED)))

    async def finish(self, grace: float) -> None:
        """Start no further step and wait for those under way, at most `grace` seconds."""
        self._stopping = True
        for active in self._active.values():
            active.execution.stopping = True
        with anyio.move_on_after(grace):
            while self._active or self._beginning:
                await self._changed.wait()

    async def _begin(self, new: NewRun, workflow: Pattern, answer: "_Answer") -> None:
        try:
            lease, info = await self._store.create(new)
        except CheckpointError as error:
            answer.fail(error)
            return
        except BaseException:  # somebody waits for the answer, whatever happens
            answer.fail(RunnerStopped(new.run_id))
            raise
        finally:
            self._beginning.remove(new.run_id)
            self._notify()
        if lease is None:
            answer.give(None, info)
            return
        snapshot = Snapshot(info, {"": new.root}, ())
        active = self._activate(snapshot, lease)
        answer.give(active.run, info)
        await self._work(snapshot, workflow, active, recovered=False)

    def _activate(self, snapshot: Snapshot, lease: Lease) -> "_Active":
        info, outcome = snapshot.run, Outcome()
        journal = Journal(self._store, lease)
        execution = Execution(info.run_id, info.workflow, self._emitter, self._deps, self._hub, journal)
        execution.stopping = self._stopping
        active = _Active(Run(info.run_id, info.workflow, outcome), execution, outcome)
        self._active[info.run_id] = active
        self._notify()
        return active

    async def _work(
        self,
        snapshot: Snapshot,
        workflow: Pattern,
        active: "_Active",
        recovered: bool,  # noqa: FBT001  # passed by start_soon, which knows no keywords
    ) -> None:
        run_id, execution, outcome = snapshot.run.run_id, active.execution, active.outcome
        try:
            execution.restore(snapshot)
            branch = Branch(execution, workflow.program, snapshot.root)
            await observed(execution, branch, recovered=recovered)
            outcome.complete(branch.view())
        except RunCancelled as error:
            outcome.cancel(error)
        except WorkflowError as error:
            failure = RunFailed(run_id, describe(error))
            failure.__cause__ = error
            outcome.fail(failure)
        except CheckpointError as error:
            outcome.leave(error)
        except Stopping:
            outcome.leave(RunnerStopped(run_id))
        finally:
            outcome.leave(RunnerStopped(run_id))  # unless it has ended: cancelled behind the grace
            del self._active[run_id]
            self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class _Active(NamedTuple):
    """A run that is worked on."""

    run: Run
    execution: Execution
    outcome: Outcome


class _Answer:
    """What has become of a new run, for the caller who waits for it."""

    def __init__(self) -> None:
        self._given = anyio.Event()
        self._value: tuple[Run | None, RunInfo] | None = None
        self._error: Exception = RuntimeError("no answer")

    def give(self, run: Run | None, info: RunInfo) -> None:
        self._value = (run, info)
        self._given.set()

    def fail(self, error: Exception) -> None:
        self._error = error
        self._given.set()

    async def get(self) -> tuple[Run | None, RunInfo]:
        await self._given.wait()
        if self._value is None:
            raise self._error
        return self._value
