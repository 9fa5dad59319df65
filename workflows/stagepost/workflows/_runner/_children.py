"""Children as runs of their own in the store, so that they outlive their process as their parents do."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any, Final

from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from stagepost.checkpoint import (
    CancelRequested,
    CheckpointError,
    CheckpointStore,
    Keep,
    Owner,
    RunInfo,
    RunNotFound,
    RunNotOpen,
    RunStatus,
    StoreError,
    WaitKind,
)
from stagepost.hub import get_logger

from .._execution._children import Beginning, Input, begun_with
from .._execution._environment import Environment
from .._execution._execution import Execution
from .._execution._signals import Left, Parks
from .._ids import child_id
from .._lifespans import Lifespans
from .._patterns._pattern import Pattern
from .._runs._fitness import Fitness
from .._runs._seeing import see
from .._runs._starting import Order, check_workflow
from ..errors import ChildFailed, RunCancelled, RunDead, RunFailed, RunnerNotOpen, RunnerStopped, WorkflowError
from ._claims import Claims
from ._dispatcher import Dispatcher
from ._executor import Executor
from ._lines import Lines
from ._past import StoredPast
from ._presence import Presence
from ._record import Record
from ._rooms import Rooms
from ._run import Run, halted
from ._scheduler import Scheduler
from ._timers import Timers
from ._watcher import Watcher

_REMEMBERED: Final = 1_000  # children of a run; whether further ones are stored is looked up
_PATIENCE: Final = 1.0  # seconds that a child gets to end by itself; then its end is committed over its head


class StoredChildren:
    """Children of the runs of one runner.

    Args:
        dispatcher: Where they are asked for.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def run(self, parent: Execution, workflow: Pattern, key: str, start: Beginning, *, place: str) -> Any:
        """The final state of a child, which is begun if there is none yet.

        Raises:
            ChildFailed: It has ended otherwise.
            Parks: It waits for somebody.
            Left: It does not go on in this process.
        """
        run_id = child_id(parent.run_id, key)
        self._dispatcher.registry.check(workflow, starter=parent.workflow)
        await checkpoint_if_cancelled()  # who no longer waits begins nothing
        info = await self._find(run_id) if _may_be_stored(parent, run_id) else None
        if info is None:
            run = await self._begin(parent, workflow, run_id, await begun_with(start), place)
        else:
            check_workflow(info, workflow.name)
            run = await self._join(parent, info)
        return await self._end_of(run)

    async def begun(self, run_id: str) -> None:
        """Wait until all children that are about to be stored are, or are not."""
        await self._dispatcher.starter.arrived_below(run_id)

    async def cancel(self, parent: Execution, workflow: Pattern, key: str) -> None:  # noqa: ARG002  # a store knows whose it is
        """End a child for good, with those below it; nothing, if there is none or it has ended."""
        with _left_open_by(StoreError), suppress(RunNotFound, RunNotOpen):
            await self._dispatcher.cancel(child_id(parent.run_id, key), _PATIENCE)

    async def state(self, run_id: str, key: str) -> Any:
        """The final state of a child that has completed, or None."""
        dispatcher = self._dispatcher
        try:
            head = await dispatcher.store.head(child_id(run_id, key))
            if head.run.status is not RunStatus.COMPLETED:
                return None
            return (await see(head, dispatcher.store, dispatcher.registry, dispatcher.lists)).state
        except RunNotFound:
            return None

    async def _find(self, run_id: str) -> RunInfo | None:
        with _left_open_by(StoreError):
            try:
                return await self._dispatcher.store.info(run_id)
            except RunNotFound:
                return None

    async def _begin(self, parent: Execution, workflow: Pattern, run_id: str, state: Input, place: str) -> Run:
        keep = Keep.RESULT if parent.keep is Keep.NONE else parent.keep  # its parent forgets it at its own end
        order = Order(
            run_id=run_id,
            keep=keep,
            trace=parent.trace,
            urgent=True,
            any_input=True,
            labels=parent.labels,
            place=place,
        )
        with _left_open_by(StoreError, RunnerStopped, RunnerNotOpen, CancelRequested):
            return await self._dispatcher.start(workflow, state, order)

    async def _join(self, parent: Execution, info: RunInfo) -> Run:
        async with self._waiting_for(info.run_id):
            if parent.opens_again(info.run_id) and info.status in (RunStatus.FAILED, RunStatus.DEAD):
                return await self._dispatcher.take_up(info, reopen=True, urgent=True)
            return await self._dispatcher.attach(info, urgent=True)

    async def _end_of(self, run: Run) -> Any:
        async with self._waiting_for(run.id):
            try:
                if await halted(run) is RunStatus.WAITING:
                    raise Parks(WaitKind.CHILD, run.id)
                return await run.result()
            except (RunFailed, RunCancelled, RunDead) as error:
                why, cause = error.error if isinstance(error, RunFailed) else str(error), error.__cause__ or error
            snapshot = await self._dispatcher.store.load(run.id)
            state = self._dispatcher.registry.find(snapshot.run).view(snapshot)
        raise ChildFailed(run.id, run.workflow, why, state=state) from cause

    @asynccontextmanager
    async def _waiting_for(self, run_id: str) -> AsyncIterator[None]:
        """A child that cannot go on now is waited for like one that waits itself: a later process goes on with both."""
        try:
            yield
        except (StoreError, RunnerStopped, RunnerNotOpen, RunNotOpen, RunNotFound) as error:
            raise Left(error) from None
        except (WorkflowError, CheckpointError) as error:
            await self._dispatcher.claims.leave(run_id, error)
            raise Parks(WaitKind.CHILD, run_id) from None


def _may_be_stored(parent: Execution, run_id: str) -> bool:
    """Whether a child may be in the store already; asked once before each time that a step wants it.

    It is not, if nobody has claimed the parent again and the child is wanted for the first time: it has a name that no
    other run can be given.
    """
    if parent.journal.epoch != 1 or run_id in parent.begun or len(parent.begun) >= _REMEMBERED:
        return True
    parent.begun.add(run_id)
    return False


@contextmanager
def _left_open_by(*errors: type[Exception]) -> Iterator[None]:
    """After these errors the child goes on in another process, and with it whoever waits for it."""
    try:
        yield
    except errors as error:
        raise Left(error) from None


def assembled(  # all that a runner consists of
    environment: Environment,
    owner: Owner,
    group: TaskGroup,
    fitness: Fitness,
    lifespans: Lifespans,
    *,
    slots: int | None,
    lines: Lines[Record] | None,
) -> Dispatcher:
    """What works on the runs of one owner, put together.

    Args:
        environment: What runs are executed with.
        owner: Who they belong to.
        group: Whose tasks work on them.
        fitness: Says which stored ones can go on.
        lifespans: What is open around them.
        slots: How many are worked on at once; None for no limit.
        lines: Where they wait for limits; None if there are none.
    """
    log = get_logger("workflows", mask=environment.secrets.mask)
    past = StoredPast(environment.store, fitness.registry)
    presence = Presence(log, Rooms(environment.store, past, environment.clock))
    claims = Claims(environment, owner, fitness, presence, log)
    watcher = Watcher(environment.store, claims, presence, environment.clock, group.start_soon, log=log)
    dispatcher = Dispatcher(environment, fitness, lifespans, presence, claims, watcher)
    executor = Executor(environment, presence, claims, fitness, watcher, lifespans, StoredChildren(dispatcher))
    scheduler = Scheduler(presence, executor, group, slots=slots, lines=lines, clock=environment.clock)
    if lines is not None:
        executor.note = partial(_noted, lines, environment)
        scheduler.timers = Timers(scheduler.open, environment.clock, group.start_soon, log=log)
    dispatcher.use(executor, scheduler)
    group.start_soon(watcher.run, scheduler)
    group.start_soon(_watch, environment.store, claims)
    return dispatcher


async def _watch(store: CheckpointStore, claims: Claims) -> None:
    """When the store takes nothing more, tell all who wait for runs that nobody works on."""
    claims.lose_all(await store.failure())


async def _noted(lines: Lines[Record], environment: Environment, record: Record) -> None:
    """Have the store count a run for limits, before anything of it is done."""
    await lines.note(record, environment.store, environment.clock())
