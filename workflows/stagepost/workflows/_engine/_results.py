"""What a step's result changes in the state of its branch."""

from collections.abc import Mapping
from typing import Any

from .._values._state import Values
from .._values._unawaited import refuse_unawaited
from ..errors import StateChanged
from ._branch import Branch


def updates_of(branch: Branch, result: Any, state: Any, step: str) -> Values:
    """The updates that a step has returned, in their stored form.

    Args:
        branch: Where the step ran.
        result: What it returned.
        state: What it was given.
        step: Its name.

    Raises:
        StepResultError: It is no update, or the step has changed its state in place.
        CannotStore: A value has no stored form, or holds a secret.
    """
    run = branch.execution
    if run.check_states and result is not state:
        _check_unchanged(branch, result, state, step)
    try:
        updates = branch.program.schema.updates(result, branch.values, step)
    except Exception:
        refuse_unawaited(result, f"step {step!r}")
        raise
    run.secrets.check_values(updates, step)
    return updates


def _check_unchanged(branch: Branch, result: Any, state: Any, step: str) -> None:
    returned = result.keys() if isinstance(result, Mapping) else ()
    lost = [name for name in branch.program.schema.changed(state, branch.values) if name not in returned]
    if lost:
        raise StateChanged(step, lost)
