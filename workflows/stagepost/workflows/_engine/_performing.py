"""Running a step that may have to wait."""

from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from .._events import WaitOpened
from .._execution._signals import Parked, Parks
from ..errors import RunnerRequired, StepCancelled

if TYPE_CHECKING:
    from .._steps._context import StepContext
    from .._steps._step import Step


async def perform(step: "Step", value: Any, context: "StepContext") -> Any:
    """Run a step on a state or an item; what it waits for is saved, and it runs again once that has come.

    Raises:
        Parked: It waits.
        StepCancelled: What it awaits was cancelled, and not because this task was.
        Exception: It failed.
    """
    ledger = context.execution.ledger
    while True:
        if ledger.has_waits:
            if ledger.is_waiting(context.place):
                raise Parked
            await ledger.recall(context.place)
        try:
            try:
                result = await step.call(value, context)
            except anyio.get_cancelled_exc_class() as error:
                if anyio.current_effective_deadline() == -inf:
                    raise
                _check_doubt(context)
                raise StepCancelled(step.name) from error
            except Exception:
                _check_doubt(context)
                raise
            if ledger.has_doubts:
                _check_doubt(context)
        except Parks as request:
            await _rest(step, context, request)
        else:
            return result


def _check_doubt(context: "StepContext") -> None:
    """An effect in doubt counts for more than whatever the step makes of that."""
    request = context.ledger.take_doubt(context.place)
    if request is not None:
        raise request


async def _rest(step: "Step", context: "StepContext", request: Parks) -> None:
    """Save what the step waits for.

    Raises:
        RunnerRequired: The run is in memory.
    """
    if not context.ledger.is_durable:
        raise RunnerRequired(context.workflow, step.name) from None
    await context.ledger.open(context.place, request)
    context.emit(WaitOpened, path=context.path, kind=request.kind.value, due_at=request.due_at)
