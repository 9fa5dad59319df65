"""Children as runs of their own in the store, so that they outlive their process as their parents do."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol

from stagepost.checkpoint import (
    CheckpointError,
    CheckpointStore,
    Keep,
    RunInfo,
    RunNotFound,
    RunNotOpen,
    RunStatus,
    StoreError,
    WaitKind,
)

from .._background._desk import Desk
from .._execution._children import Beginning, Input, begun_with, child_id
from .._execution._execution import Execution
from .._execution._signals import Left, Parks
from .._patterns._pattern import Pattern
from .._runs._orders import Order
from .._runs._registry import Registry
from .._runs._run import Run
from .._runs._starting import check_workflow
from ..errors import ChildFailed, RunCancelled, RunDead, RunFailed, RunnerNotOpen, RunnerStopped, WorkflowError
from ._cancelling import Cancelling

_PATIENCE: Final = 1.0  # seconds that a child gets to end by itself; then its end is committed over its head


class Reception(Protocol):
    """Where runs are asked for, as far as children need it; what it is knows this module."""

    registry: Registry
    store: CheckpointStore
    desk: Desk

    async def start(self, workflow: Pattern, state: Input, order: Order) -> Run:
        """Start a run, or attach to the one that has its id."""
        ...

    async def attach(self, info: RunInfo, *, claim: bool = True, urgent: bool = False) -> Run:
        """A handle of a stored run."""
        ...

    async def claim(
        self, info: RunInfo, *, reopen: bool = False, recovering: bool = False, urgent: bool = False
    ) -> Run:
        """Take up a stored run."""
        ...


class StoredChildren:
    """Children of the runs of one runner.

    Args:
        reception: Where they are asked for.
    """

    def __init__(self, reception: Reception) -> None:
        self._reception = reception

    async def run(self, parent: Execution, workflow: Pattern, key: str, start: Beginning) -> Any:
        """The final state of a child, which is begun if there is none yet.

        Raises:
            ChildFailed: It has ended otherwise.
            Parks: It waits for somebody.
            Left: It does not go on in this process.
        """
        run_id = child_id(parent.run_id, key)
        self._reception.registry.check(workflow, starter=parent.workflow)
        info = await self._find(run_id)
        if info is None:
            run = await self._begin(parent, workflow, run_id, await begun_with(start))
        else:
            check_workflow(info, workflow.name)
            run = await self._join(parent, info)
        return await self._end_of(run)

    async def cancel(self, parent: Execution, workflow: Pattern, key: str) -> None:  # noqa: ARG002  # a store knows whose it is
        """End a child for good, with those below it; nothing, if there is none or it has ended."""
        await self._reception.desk.begun_below(parent.run_id)  # it may be among these
        with _left_open_by(StoreError), suppress(RunNotFound, RunNotOpen):
            await Cancelling(self._reception.desk, _PATIENCE).cancel(child_id(parent.run_id, key))

    async def state(self, run_id: str, key: str) -> Any:
        """The final state of a child that has completed, or None."""
        try:
            snapshot = await self._reception.store.load(child_id(run_id, key))
        except RunNotFound:
            return None
        if snapshot.run.status is not RunStatus.COMPLETED:
            return None
        return self._reception.registry.find(snapshot.run).view(snapshot)

    async def _find(self, run_id: str) -> RunInfo | None:
        with _left_open_by(StoreError):
            try:
                return await self._reception.store.info(run_id)
            except RunNotFound:
                return None

    async def _begin(self, parent: Execution, workflow: Pattern, run_id: str, state: Input) -> Run:
        keep = Keep.RESULT if parent.keep is Keep.NONE else parent.keep  # its parent forgets it at its own end
        order = Order(run_id=run_id, keep=keep, trace=parent.trace, urgent=True, any_input=True, labels=parent.labels)
        with _left_open_by(StoreError, RunnerStopped, RunnerNotOpen):
            return await self._reception.start(workflow, state, order)

    async def _join(self, parent: Execution, info: RunInfo) -> Run:
        with self._waiting_for(info.run_id):
            if parent.opens_again(info.run_id) and info.status in (RunStatus.FAILED, RunStatus.DEAD):
                return await self._reception.claim(info, reopen=True, urgent=True)
            return await self._reception.attach(info, urgent=True)

    async def _end_of(self, run: Run) -> Any:
        with self._waiting_for(run.id):
            try:
                if await run.settled() is RunStatus.WAITING:
                    raise Parks(WaitKind.CHILD, run.id)
                return await run.result()
            except (RunFailed, RunCancelled, RunDead) as error:
                why, cause = error.error if isinstance(error, RunFailed) else str(error), error.__cause__ or error
            snapshot = await self._reception.store.load(run.id)
            state = self._reception.registry.find(snapshot.run).view(snapshot)
        raise ChildFailed(run.id, run.workflow, why, state=state) from cause

    @contextmanager
    def _waiting_for(self, run_id: str) -> Iterator[None]:
        """A child that cannot go on now is waited for like one that waits itself: a later process goes on with both."""
        try:
            yield
        except (StoreError, RunnerStopped, RunnerNotOpen, RunNotOpen, RunNotFound) as error:
            raise Left(error) from None
        except (WorkflowError, CheckpointError) as error:
            self._reception.desk.left_open.leave(run_id, error)
            raise Parks(WaitKind.CHILD, run_id) from None


@contextmanager
def _left_open_by(*errors: type[Exception]) -> Iterator[None]:
    """After these errors the child goes on in another process, and with it whoever waits for it."""
    try:
        yield
    except errors as error:
        raise Left(error) from None
