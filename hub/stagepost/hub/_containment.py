"""What becomes of an error that a handler let out: the one place that keeps an agent's failure from harming others."""

import math

from anyio import current_effective_deadline, get_cancelled_exc_class


def own_failure(error: BaseException) -> BaseException | None:
    """The part of an error that is the handler's own; None if it was only cancelled.

    Without a cancellation in effect even a cancellation error is its own: it awaited something that was cancelled. With
    one, a task group in the handler may have mixed both kinds.
    """
    if not is_cancelled():
        return error
    cancelled = get_cancelled_exc_class()
    if isinstance(error, cancelled):
        return None
    return error.split(cancelled)[1] if isinstance(error, BaseExceptionGroup) else error


def is_cancelled() -> bool:
    """Whether the running task was told to stop."""
    return current_effective_deadline() == -math.inf


def is_fatal(failure: BaseException) -> bool:
    """Whether a failure is meant for the whole program, like `KeyboardInterrupt`."""
    containable = (Exception, get_cancelled_exc_class())
    if isinstance(failure, BaseExceptionGroup):
        return failure.split(containable)[1] is not None
    return not isinstance(failure, containable)
