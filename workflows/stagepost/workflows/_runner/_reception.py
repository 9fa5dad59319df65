"""Where runs are asked for: started, attached to, taken up."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias

from anyio.abc import TaskGroup
from pydantic import BaseModel

from stagepost.checkpoint import (
    CheckpointError,
    KeyRemembered,
    ListTooShort,
    NewRun,
    RunInfo,
    RunNotFound,
    RunNotOpen,
    RunStatus,
    Snapshot,
)

from .._background._desk import Desk
from .._background._means import Means
from .._engine._engine import check_hub
from .._execution._blobs import check_blobs
from .._execution._sizes import check_input
from .._lifespans import Lifespans
from .._patterns._pattern import Pattern
from .._runs._continuing import check_continued, continued_in, read_older
from .._runs._fitness import Fitness
from .._runs._handles import handle_of
from .._runs._orders import Order
from .._runs._registry import Registry
from .._runs._run import Run
from .._runs._starting import check_same, check_workflow, lookup, new_run
from ..errors import RunCancelled, RunForgotten
from ._inbox import Inbox
from ._stored_children import StoredChildren

Start: TypeAlias = Mapping[str, object] | BaseModel | None


class Reception:
    """Finds the runs that are asked for, or makes them, and has them worked on.

    Attributes:
        registry: The definitions of runs.
        store: Where they are kept.
        desk: Where they are worked on.
        fitness: Says which of those that are stored can go on.
        inbox: What somebody outside sends to them.

    Args:
        means: What runs are executed with.
        group: Whose tasks work on them.
        registry: Their definitions.
        lifespans: What is open around them.
        slots: How many are worked on at once; None for no limit.
    """

    def __init__(
        self, means: Means, group: TaskGroup, registry: Registry, lifespans: Lifespans, *, slots: int | None
    ) -> None:
        self.registry = registry
        self.store = means.store
        self.fitness = Fitness(registry, means.hub, means.secrets)
        self.desk = Desk(means, group, self.fitness, lifespans, StoredChildren(self), slots=slots)
        self.inbox = Inbox(self.desk, registry, self.fitness)
        self._means = means
        self._lifespans = lifespans

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
        """
        check_hub(workflow.name, workflow.plan, self._means.hub)
        new, missing = await self._new(workflow, state, order)
        self._means.secrets.check(new.input, f"the input of {workflow.name!r}")
        check_input(self.store.limits, new)
        check_blobs(new.blobs, f"the input of {workflow.name!r}", self.store.limits, self._means.secrets)
        if workflow.lifespan is not None:
            await self.prepare(workflow)
        try:
            run, info = await self.desk.begin(new, workflow, urgent=order.urgent, intermediates=order.intermediates)
        except KeyRemembered as known:
            raise RunForgotten(known.run_id, known.status, known.ended_at, is_same=known.is_same) from None
        except (RunNotFound, ListTooShort) as error:
            raise missing or error from None
        if run is not None:
            return run
        check_workflow(info, workflow.name)
        if not order.any_input:
            check_same(info, new)
        return await self.attach(info, urgent=order.urgent)

    async def _new(self, workflow: Pattern, state: Start, order: Order) -> tuple[NewRun, CheckpointError | None]:
        """A run before its first step, and why it cannot begin, if a list that it goes on with is not there."""
        continued = continued_in(state)
        check_continued(workflow, continued)
        try:
            older = await read_older(self.store, continued)
        except (RunNotFound, ListTooShort) as missing:
            return lookup(workflow, state, self._means.owner, order), missing
        return new_run(workflow, state, self._means.owner, order, older), None

    async def attach(self, info: RunInfo, *, claim: bool = True, urgent: bool = False) -> Run:
        """A handle of a stored run, whatever its status.

        Args:
            info: The run.
            claim: Whether to take it up, if nobody works on it.
            urgent: Whether it may pass by those in line.

        Raises:
            WorkflowError: It cannot go on (with `claim`; otherwise its handle says so).
        """
        run = await self.desk.find(info.run_id, urgent=urgent)
        if run is not None:
            return run
        snapshot = await self.store.load(info.run_id)  # somebody may have answered it since `info` was read
        if snapshot.run.status is RunStatus.RUNNING:
            with suppress(RunNotOpen, RunCancelled):  # it has ended since
                if claim:
                    return await self.claim(snapshot.run, urgent=urgent)
                if (run := await self.desk.find_woken(info.run_id)) is not None:
                    return run
            snapshot = await self.store.load(info.run_id)
        reason = self._reason(snapshot) if snapshot.run.status.is_open else None
        if reason is not None and claim:
            raise reason
        return handle_of(snapshot, self.registry, self.desk.outcomes, reason)

    async def claim(
        self, info: RunInfo, *, reopen: bool = False, recovering: bool = False, urgent: bool = False
    ) -> Run:
        """Take up a stored run, unless it is worked on here already."""
        definition = self.fitness.definition_of(info)
        return await self.desk.take_up(info.run_id, definition, reopen=reopen, recovering=recovering, urgent=urgent)

    def _reason(self, snapshot: Snapshot) -> BaseException | None:
        """Why a run that nobody works on cannot go on, or was not gone on with."""
        reason = None if self.desk.left_open.is_fit(snapshot.run) else self.fitness.reason(snapshot)
        if reason is None and snapshot.run.status is RunStatus.RUNNING:
            return self.desk.left_open.reason(snapshot.run.run_id)
        return reason
