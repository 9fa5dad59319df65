"""What is said of results that are no update of a state, beyond that they were refused."""

from collections.abc import Mapping
from typing import Any

from .._values._unawaited import refuse_unawaited
from ..errors import NotAwaited, StateChanged
from ._branch import Branch


def explained(failure: BaseException, result: object, step: str) -> BaseException:
    """The failure of a step; if its result was refused, and there is a coroutine in it, the error that says so.

    Args:
        failure: What was raised.
        result: What the step returned; None if it did not return.
        step: Its name.
    """
    if result is not None:
        try:
            refuse_unawaited(result, f"step {step!r}")
        except NotAwaited as error:
            error.__cause__ = failure
            return error
    return failure


def check_unchanged(branch: Branch, result: Any, state: Any, step: str) -> None:
    """See that a step has not changed its state in place without returning it.

    Raises:
        StateChanged: It has.
    """
    if result is state:
        return
    returned = result.keys() if isinstance(result, Mapping) else ()
    lost = [name for name in branch.plan.schema.changed(state, branch.values) if name not in returned]
    if lost:
        raise StateChanged(step, lost)
