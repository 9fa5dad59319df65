"""The runs that a runner works on, from their first commit or claim to their end."""

from typing import Any

import anyio
from anyio.abc import TaskGroup

from stagepost.checkpoint import CheckpointError, CheckpointStore, Lease, NewRun, RunInfo, Snapshot
from stagepost.hub import Emitter, Hub

from ._branch import Branch
from ._engine import observed
from ._execution import Execution, Journal, Stopping
from ._pattern import Pattern
from ._recovery import check_compatible
from ._run import Outcome, Run
from .errors import RunFailed, RunnerStopped, WorkflowError, describe


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
        self._active: dict[str, tuple[Run, Execution]] = {}
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
            RunnerStopped: The runner is being left.
        """
        async with self._claiming:
            run = await self.find(run_id)
            if run is not None:
                return run
            check_compatible(await self._store.load(run_id), workflow.program)  # or it stays as it is
            lease = await self._store.claim(run_id, self.owner, reopen=reopen)
            snapshot = await self._store.load(run_id)
            if self._stopping:
                raise RunnerStopped(run_id)
            outcome = Outcome()
            run, execution = self._activate(snapshot, lease, outcome)
            self._group.start_soon(self._work, snapshot, workflow, execution, outcome, True)
            return run

    async def find(self, run_id: str) -> Run | None:
        """The run, if it is worked on here, or is just being stored by somebody else's `begin`."""
        while run_id not in self._active and run_id in self._beginning:
            await self._changed.wait()
        active = self._active.get(run_id)
        return None if active is None else active[0]

    async def finish(self, grace: float) -> None:
        """Start no further step and wait for those under way, at most `grace` seconds."""
        self._stopping = True
        for _, execution in self._active.values():
            execution.stopping = True
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
        snapshot, outcome = Snapshot(info, {"": new.root}, ()), Outcome()
        run, execution = self._activate(snapshot, lease, outcome)
        answer.give(run, info)
        await self._work(snapshot, workflow, execution, outcome, recovered=False)

    def _activate(self, snapshot: Snapshot, lease: Lease, outcome: Outcome) -> tuple[Run, Execution]:
        info = snapshot.run
        run = Run(info.run_id, info.workflow, outcome)
        journal = Journal(self._store, lease)
        execution = Execution(info.run_id, info.workflow, self._emitter, self._deps, self._hub, journal)
        execution.stopping = self._stopping
        self._active[info.run_id] = (run, execution)
        self._notify()
        return run, execution

    async def _work(
        self,
        snapshot: Snapshot,
        workflow: Pattern,
        execution: Execution,
        outcome: Outcome,
        recovered: bool,  # noqa: FBT001  # passed by start_soon, which knows no keywords
    ) -> None:
        run_id = snapshot.run.run_id
        try:
            execution.restore(snapshot)
            branch = Branch(execution, workflow.program, snapshot.root)
            await observed(execution, branch, recovered=recovered)
            outcome.complete(branch.view())
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
