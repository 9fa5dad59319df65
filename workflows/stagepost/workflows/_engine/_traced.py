"""What whoever traces runs is told of one, and of its steps."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from stagepost.checkpoint import RunInfo, Snapshot

from .._tracing import RunTracer, TracedRun
from .._values._secrets import Secrets
from .._values._state import Values

if TYPE_CHECKING:
    from .._execution._execution import Execution
    from .._steps._context import StepContext
    from .._steps._step import Step

_CALL = "call"  # in the first state of a run that an agent's call has started: the number of the call


def of_stored(run: "Execution", agent: str | None, snapshot: Snapshot) -> TracedRun:
    """A stored run, as this process finds it.

    Args:
        run: The run in this process.
        agent: Name of the agent whose work it is, if it is one's.
        snapshot: It as it was read, once it was claimed.
    """
    call, created = None if agent is None else snapshot.root.state.get(_CALL), snapshot.run.created_at
    return TracedRun(
        run_id=run.run_id,
        workflow=run.workflow,
        trace=run.trace,
        clock=run.clock,
        mask=lambda: run.secrets.mask,
        created_at=created.timestamp(),
        saved_at=snapshot.saved_at.get("", created).timestamp(),
        agent=agent,
        epoch=run.journal.epoch,
        killed=snapshot.run.attempts,
        call=None if call is None else _text(from_json(call)),
        labels=run.labels,
    )


def of_resting(info: RunInfo, agent: str | None, clock: Callable[[], float], secrets: Secrets) -> TracedRun:
    """A stored run that nobody executes, and that is ended all the same.

    Args:
        info: It as it is stored.
        agent: Name of the agent whose work it is, if it is one's.
        clock: Seconds since 1970.
        secrets: What nobody may be told.
    """
    return TracedRun(
        run_id=info.run_id,
        workflow=info.workflow,
        trace=info.trace or info.run_id,
        clock=clock,
        mask=lambda: secrets.mask,
        created_at=info.created_at.timestamp(),
        saved_at=info.created_at.timestamp(),
        agent=agent,
        epoch=info.epoch,
        labels=info.labels,
    )


def in_memory(run: "Execution", agent: str | None, values: Values) -> TracedRun:
    """A run in memory.

    Args:
        run: The run.
        agent: Name of the agent whose work it is, if it is one's.
        values: Its first state.
    """
    now, call = run.clock(), None if agent is None else values.get(_CALL)
    return TracedRun(
        run_id=run.run_id,
        workflow=run.workflow,
        trace=run.trace,
        clock=run.clock,
        mask=lambda: run.secrets.mask,
        created_at=now,
        saved_at=now,
        agent=agent,
        call=None if call is None else _text(from_json(call.data)),
    )


async def observed_step(tracing: RunTracer, step: "Step", value: Any, context: "StepContext", performed: Any) -> Any:
    """Perform a step in what traces it."""
    span = tracing.step(step.name, value, context)
    if span is None:
        return await performed
    with span:
        return await performed


def _text(call: object) -> str | None:
    return call if isinstance(call, str) else None
