"""How a step, or something within it, has ended."""

from typing import Literal, TypeAlias

from stagepost.hub import failure_of

from .._containment import find
from .._execution._signals import Left, Parked, Parks, Stopping
from ._context import StepContext, execution_of

StepOutcome: TypeAlias = Literal["completed", "failed", "cancelled", "waiting", "interrupted"]
"""How something in a step has ended. ``waiting``: the step runs again once somebody has answered. ``interrupted``: its
process has to end, and another one goes on. ``cancelled``: it was, and not because its process has to end.
"""


def outcome_of(error: BaseException | None, context: StepContext) -> StepOutcome:
    """How something in a step has ended, for whoever observes it and handles no error.

    Args:
        error: What it raised, also what the engine raises to itself; None if it returned.
        context: What the step was given.
    """
    if error is None:
        return "completed"
    if find(error, Parks) is not None or find(error, Parked) is not None:
        return "waiting"
    if find(error, Left) is not None or find(error, Stopping) is not None:
        return "interrupted"
    if failure_of(error) is not None:
        return "failed"
    return "interrupted" if execution_of(context).journal.stopping else "cancelled"
