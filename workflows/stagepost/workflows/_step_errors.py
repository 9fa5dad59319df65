"""What a step did wrong."""

from collections.abc import Sequence

from stagepost.checkpoint import CannotStore

from ._root_error import WorkflowError


class StepResultError(WorkflowError, TypeError):
    """A step returned something that is no update of the state."""

    def __init__(self, step: str, result: object) -> None:
        super().__init__(
            f"step {step!r} returned {type(result).__name__}: return None (no change), "
            "a mapping of the keys to update, or a whole state",
        )
        self.step = step
        self.result = result


class NotAwaited(StepResultError):
    """A coroutine stands where a value should be: an `await` is missing.

    Attributes:
        where: Who gave it.
        key: Where it stands in what was given; empty if it is all of it.
        function: The coroutine function that was called.
    """

    def __init__(self, where: str, key: str, function: str) -> None:
        what = "a coroutine" if not key else f"a coroutine under {key!r}"
        text = f"{where} returned {what} that nobody has awaited: write `await {function.rpartition('.')[2]}(…)`"
        Exception.__init__(self, text)
        self.where = where
        self.key = key
        self.function = function


class StateChanged(StepResultError):
    """A step changed the state that it was given, and did not return it, so that the change is lost.

    Found with ``check_states=True``.

    Attributes:
        step: Name of the step.
        fields: What it changed.
    """

    def __init__(self, step: str, fields: Sequence[str]) -> None:
        text = (
            f"step {step!r} changed {', '.join(map(repr, fields))} of its state in place, which is lost: "
            "return the changes, or the changed state"
        )
        Exception.__init__(self, text)
        self.step = step
        self.fields = tuple(fields)


class UnknownField(StepResultError, CannotStore):
    """A step returned a field that the model of its state does not have.

    Attributes:
        step: Name of the step.
        field: The field.
        known: Those that there are.
    """

    def __init__(self, step: str, field: str, model: str, known: Sequence[str]) -> None:
        text = f"step {step!r} returned {field!r}: {model} has no field {field}; it has {', '.join(known) or 'none'}"
        Exception.__init__(self, text)
        self.step = step
        self.field = field
        self.known = tuple(known)


class StepCancelled(WorkflowError):
    """A step was ended by a cancellation that nobody asked the engine for: what it awaited was cancelled."""

    def __init__(self, step: str) -> None:
        super().__init__(
            f"step {step!r} awaited something that was cancelled elsewhere: catch the cancellation where it is awaited",
        )
        self.step = step


class StepTimeout(WorkflowError, TimeoutError):
    """A step took longer than its ``timeout=``, and was cancelled.

    Attributes:
        step: Name of the step.
        limit: Seconds.
    """

    def __init__(self, step: str, limit: float) -> None:
        super().__init__(f"step {step!r} took longer than its {limit:g} s and was cancelled")
        self.step = step
        self.limit = limit


class UncleanStep(WorkflowError):
    """A step did its work, and left the task that it runs in other than it found it. The engine has mended that.

    Attributes:
        step: Name of the step.
        what: What it did.
    """

    def __init__(self, step: str, what: str) -> None:
        super().__init__(f"step {step!r} {what}")
        self.step = step
        self.what = what
