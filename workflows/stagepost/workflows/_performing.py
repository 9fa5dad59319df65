"""Running a step that may have to wait."""

from typing import TYPE_CHECKING, Any

from stagepost.checkpoint import WaitKind

from ._events import WaitOpened
from ._signals import Parked, Parks
from .errors import RunnerRequired

if TYPE_CHECKING:
    from ._context import StepContext
    from ._step import Step


async def perform(step: "Step", value: Any, context: "StepContext") -> Any:
    """Run a step on a state or an item; what it waits for is saved, and it runs again once that has come.

    Raises:
        Parked: It waits.
        Exception: It failed.
    """
    ledger = context.ledger
    while True:
        if ledger.has_waits:
            if ledger.is_waiting(context.place):
                raise Parked
            await ledger.recall(context.place)
        try:
            return await _attempt(step, value, context)
        except Parks as request:
            if not ledger.is_durable:
                raise RunnerRequired(context.workflow, step.name) from None
            await ledger.open(context.place, request)
            context.emit(WaitOpened, path=context.path, kind=request.kind.value, due_at=request.due_at)


async def _attempt(step: "Step", value: Any, context: "StepContext") -> Any:
    """Run it once; an effect in doubt counts for more than whatever the step makes of that."""
    try:
        result = await step.run(value, context)
    except Exception:
        _check_doubt(context)
        raise
    if context.ledger.has_doubts:
        _check_doubt(context)
    return result


def _check_doubt(context: "StepContext") -> None:
    key = context.ledger.take_doubt(context.place)
    if key is not None:
        raise Parks(WaitKind.EFFECT, key)
