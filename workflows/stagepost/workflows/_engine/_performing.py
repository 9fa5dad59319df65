"""Running a step that may have to wait."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from stagepost.hub import TaskGuard, failure_of

from .._containment import find, own_failure
from .._events import WaitOpened
from .._execution._signals import Parked, Parks
from .._strand import is_closing, mend, mend_after
from ..errors import RunnerRequired, StepCancelled, UncleanStep
from ._traced import observed_step

if TYPE_CHECKING:
    from .._execution._execution import Execution
    from .._execution._ledger import Ledger
    from .._steps._context import StepContext
    from .._steps._step import Step


def perform(step: "Step", value: Any, context: "StepContext", guard: TaskGuard, run: "Execution") -> Awaitable[Any]:
    """Run a step on a state or an item, observed by whoever traces the run; see `_perform`."""
    performed = _perform(step, value, context, guard, run)
    return performed if run.tracing is None else observed_step(run.tracing, step, value, context, performed)


async def _perform(step: "Step", value: Any, context: "StepContext", guard: TaskGuard, run: "Execution") -> Any:
    """Run a step on a state or an item; what it waits for is saved, and it runs again once that has come.

    Args:
        step: The step.
        value: The state or the item.
        context: What the step may know.
        guard: Of the task that this is called in.
        run: The run.

    Raises:
        Parked: It waits.
        StepCancelled: What it awaits was cancelled, and not because this task was.
        UncleanStep: It left a cancel scope open, or cancelled its own task.
        BaseException: It failed, or was cancelled from outside.
    """
    ledger = run.ledger
    while True:
        if ledger.waits:
            if ledger.is_waiting(context.place):
                raise Parked
            await ledger.recall(context.place)
        if run.chronicle is not None:
            run.chronicle.begin(context.place)
        try:
            result = await step.call(value, context)
        except BaseException as error:  # noqa: BLE001  # raised again, unless the step waits
            request = await _request(error, step, context, guard, ledger)
        else:
            is_same = guard.state.cancel_scope is guard.scope and (
                guard.task is None or (guard.task.cancelling() or guard.is_to_come(guard.task)) == guard.counted
            )
            if not is_same and (wrong := await mend(guard)) is not None:
                raise UncleanStep(step.name, wrong)
            if not ledger.doubts or (doubt := ledger.take_doubt(context.place)) is None:
                return result
            request = doubt
        await _rest(step, context, request, ledger)
        context.begin_again()


async def _request(
    error: BaseException, step: "Step", context: "StepContext", guard: TaskGuard, ledger: "Ledger"
) -> Parks:
    """What a step wants to wait for that has raised an error; an effect in doubt counts for more than its failure.

    Raises:
        BaseException: It does not wait.
    """
    wrong = await mend_after(error, guard)
    request = find(error, Parks)
    if request is not None:
        return request
    if not isinstance(error, Exception) and failure_of(error) is None and not is_closing(error):
        await checkpoint_if_cancelled()  # raises the cancellation as scopes know it, whatever the step has made of it
    failure = own_failure(error)
    doubt = ledger.take_doubt(context.place)
    if doubt is not None:
        return doubt
    if wrong is not None:
        failure.add_note(f"step {step.name!r} also {wrong}")
    if isinstance(failure, anyio.get_cancelled_exc_class()):
        raise StepCancelled(step.name) from failure
    raise failure


async def _rest(step: "Step", context: "StepContext", request: Parks, ledger: "Ledger") -> None:
    """Save what the step waits for.

    Raises:
        RunnerRequired: The run is in memory.
    """
    if not ledger.is_durable:
        raise RunnerRequired(context.workflow, step.name) from None
    await ledger.open(context.place, request)
    context.emit(WaitOpened, path=context.path, kind=request.kind.value, due_at=request.due_at)
