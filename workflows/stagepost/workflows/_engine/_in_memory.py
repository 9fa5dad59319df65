"""Runs without a store, and the runs that their steps start."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from secrets import token_hex
from typing import Any, Protocol

import anyio
from pydantic import BaseModel

from stagepost.checkpoint import Codec, Frame
from stagepost.hub import Emitter, Hub, Observer

from .._execution._blobs import blobs_of, check_blobs
from .._execution._children import Beginning, Input, begun_with
from .._execution._execution import Execution
from .._execution._signal_box import SignalBox
from .._ids import child_id
from .._lifespans import Lifespan, entered
from .._pattern_errors import describe
from .._plans._plan import Plan
from .._tracing import TracerFactory, default_tracing
from .._values._secrets import Given, Secrets
from .._values._state import Values, release
from ..errors import ChildFailed, LifespanFailed, WorkflowError
from ._branch import Branch, first_position
from ._engine import check_hub, observed
from ._intermediates import Intermediate
from ._memory_room import MemoryRoom
from ._traced import in_memory


class Workflow(Protocol):
    """What has to be known of a pattern to run it; patterns know this module."""

    name: str
    version: int

    @property
    def plan(self) -> Plan:
        """It, compiled."""
        ...

    @property
    def lifespan(self) -> Lifespan | None:
        """What is open round its runs."""
        ...

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        """What its runs may not keep."""
        ...

    @property
    def traced_agent(self) -> str | None:
        """Name of the agent whose work it is."""
        ...

    @property
    def signals(self) -> Mapping[str, Codec[Any]]:
        """What its runs may be sent."""
        ...


async def run_in_memory(
    workflow: Workflow,
    state: Mapping[str, object] | BaseModel | None,
    *,
    hub: Hub | None,
    deps: Any,
    observer: Observer | None,
    trace: str | None,
    intermediates: list[Intermediate] | None,
    secrets: Given | None,
    resources: object,
    check_states: bool,
    blobs: dict[str, bytes] | None,
    room: MemoryRoom | None,
    tracing: TracerFactory | None,
) -> Any:
    """Run a workflow without a store; returns the final state."""
    run_id = f"memory-{token_hex(16)}" if room is None else room.run_id
    execution = Execution(run_id, workflow.name, Emitter(observer), deps, hub, trace=trace or "")
    execution.room = None if room is None else room.take()
    execution.intermediates = intermediates
    execution.check_states = check_states
    execution.kept = blobs
    if secrets or workflow.hidden:
        execution.secrets = Secrets(secrets, hidden=workflow.hidden)
    execution.secrets.check_text(trace, "the trace of the run")
    around = () if resources is None or workflow.lifespan is None else ((workflow.lifespan, resources),)
    try:
        branch = _first_branch(workflow, {} if state is None else state, execution)
        children = _MemoryChildren({}, around, room)
        factory = default_tracing() if tracing is None else tracing
        if factory is None:
            await children.execute(workflow, branch)
        else:
            async with factory.opened() as execution.tracer:
                if trace is None and execution.tracer is not None:
                    execution.trace = execution.tracer.ambient() or execution.trace
                _trace(execution, workflow, branch)
                await children.execute(workflow, branch)
    except BaseException as error:
        if room is not None:
            room.give_up(error)
        raise
    return branch.view()


def _trace(execution: Execution, workflow: Workflow, branch: Branch) -> None:
    """Have a run traced, if its runs are."""
    if execution.tracer is not None:
        execution.tracing = execution.tracer.run(in_memory(execution, workflow.traced_agent, branch.values))


def _first_branch(workflow: Workflow, state: Input, execution: Execution) -> Branch:
    check_hub(workflow.name, workflow.plan, execution.hub)
    values = workflow.plan.schema.initial(state, workflow.name)
    execution.secrets.check_values(values, workflow.name)
    _take_blobs(values, workflow.name, execution)
    execution.signal_box = partial(SignalBox, execution.run_id, workflow.signals)
    position = first_position(workflow.plan, values)
    return Branch(execution, workflow.plan, Frame("", 1, position.next, {}, position.visits), own=values)


def _take_blobs(values: Values, name: str, execution: Execution) -> None:
    """Keep the bytes that the input of a run brings, and see that those that it only refers to are there."""
    blobs = blobs_of(values.values())
    if blobs:
        check_blobs(blobs, f"the input of {name!r}", execution.limits, execution.secrets)
        execution.blobs.check_known(blobs)
        execution.blobs.keep(blobs)
        release(values)


class _Child:
    """A run that a step has started.

    Attributes:
        ended: Set when it has ended, or was cancelled with whoever started it.
        branch: Where it stands, once it has ended well.
        failure: Why it has not.
    """

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.branch: Branch | None = None
        self.failure: ChildFailed | None = None

    @property
    def is_known(self) -> bool:
        """Whether it has ended by itself."""
        return self.branch is not None or self.failure is not None

    def view(self) -> Any:
        """Its final state, made anew.

        Raises:
            ChildFailed: It has none.
        """
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        return None if self.branch is None else self.branch.view()


class _MemoryChildren:
    """Children of one run in memory.

    Args:
        known: All that were started below the outermost run, by id: a later step finds their results.
        around: The lifespans that are open round the run, with what they give.
        room: Those who listen to the outermost run; None if nobody does.
    """

    def __init__(
        self, known: dict[str, _Child], around: Sequence[tuple[Lifespan, object]], room: MemoryRoom | None
    ) -> None:
        self._known = known
        self._around = around
        self._room = room

    async def execute(self, workflow: Workflow, branch: Branch) -> None:
        """Take a run to its end, with its lifespan round it unless that is open already."""
        lifespan = workflow.lifespan
        if lifespan is None:
            await self._advance(workflow, branch, self._around, None)
            return
        for known, resources in self._around:
            if known == lifespan:
                await self._advance(workflow, branch, self._around, resources)
                return
        failure: Exception | None = None
        async with entered(workflow.name, lifespan) as resources:
            try:
                await self._advance(workflow, branch, (*self._around, (lifespan, resources)), resources)
            except Exception as error:  # noqa: BLE001  # not the lifespan's affair: a task group in it would wrap it
                failure = error
        if failure is not None:
            raise failure

    async def run(self, parent: Execution, workflow: Workflow, key: str, start: Beginning, *, place: str) -> Any:  # noqa: ARG002  # of a run in memory nothing is found by that
        """The final state of a child, which is worked on by this task if there is none yet.

        Raises:
            ChildFailed: It has failed.
        """
        run_id = child_id(parent.run_id, key)
        while (known := self._known.get(run_id)) is not None:  # it may be cancelled with the item that started it
            await known.ended.wait()
            if known.is_known:
                return known.view()
        child = self._known[run_id] = _Child()
        try:
            branch = _first_branch(workflow, await begun_with(start), _execution(parent, run_id, workflow))
            if parent.tracing is not None:
                _trace(branch.execution, workflow, branch)
            await self._work(child, workflow, branch)
        finally:
            child.ended.set()
            if not child.is_known:
                del self._known[run_id]
        return child.view()

    async def begun(self, run_id: str) -> None:
        """None is about to: they begin in the steps that ask for them."""

    async def cancel(self, parent: Execution, workflow: Workflow, key: str) -> None:
        """See that a child that was cancelled with whoever awaited it is not begun anew."""
        run_id = child_id(parent.run_id, key)
        child = self._known.setdefault(run_id, _Child())
        if not child.is_known:
            child.failure = ChildFailed(run_id, workflow.name, "it was cancelled")
            child.ended.set()

    async def state(self, run_id: str, key: str) -> Any:
        """The final state of a child that has completed, or None."""
        child = self._known.get(child_id(run_id, key))
        return None if child is None or child.branch is None else child.branch.view()

    async def _work(self, child: _Child, workflow: Workflow, branch: Branch) -> None:
        try:
            await self.execute(workflow, branch)
        except LifespanFailed:  # nothing of it was done
            raise
        except WorkflowError as error:
            child.failure = ChildFailed(branch.execution.run_id, workflow.name, describe(error), state=branch.shown())
            child.failure.__cause__ = error
        else:
            child.branch = branch

    async def _advance(
        self, workflow: Workflow, branch: Branch, around: Sequence[tuple[Lifespan, object]], resources: object
    ) -> None:
        branch.execution.children = _MemoryChildren(self._known, around, self._room)
        branch.execution.resources = resources
        with nullcontext() if self._room is None else self._room.told_of(workflow, branch):
            await observed(branch.execution, branch, recovered=False)


def _execution(parent: Execution, run_id: str, workflow: Workflow) -> Execution:
    return Execution(
        run_id,
        workflow.name,
        parent.emitter,
        parent.deps,
        parent.hub,
        parent.secrets.beside(workflow.hidden),
        clock=parent.clock,
        trace=parent.trace,
        check_states=parent.check_states,
        kept=parent.blobs.known,
        room=parent.room,
        tracer=parent.tracer,
    )
