"""What an error of a user's function means to a run: the one place that decides it.

Whatever a step, a predicate or any other function of the user's raises is the failure of the place that called it,
whatever its class. Three kinds pass by: what the engine raises to itself, cancellation from outside, and
`KeyboardInterrupt`. Groups are judged by their members.
"""

from typing import TypeVar, cast

from stagepost.hub import failure_of, is_fatal, leaves_of

ErrorT = TypeVar("ErrorT", bound=BaseException)


class Signal(BaseException):
    """What the engine raises to itself through a user's code; no `Exception`, so that nothing there catches it."""


def own_failure(error: BaseException) -> BaseException:
    """The failure that a user's function has raised. Call it in the ``except BaseException`` round the call.

    Args:
        error: What was raised.

    Returns:
        The error, or of a group what remains of it without cancellation from outside.

    Raises:
        BaseException: It is none: cancellation from outside, a `KeyboardInterrupt`, or meant for the engine.
    """
    if issubclass(type(error), Exception) and not issubclass(type(error), BaseExceptionGroup):
        return error
    passing = find(error, Signal)
    if passing is not None:
        raise passing
    failure = failure_of(error)
    if failure is None or is_fatal(failure):
        raise error
    return failure


def ends_all(error: BaseException) -> bool:
    """Whether an error in the task of one run is no matter of that run: the runner or the whole process is being ended.

    A cancellation that nobody has asked the task for is made up by what runs in it.
    """
    return is_fatal(error) or failure_of(error) is not error


def find(error: BaseException, kind: type[ErrorT]) -> ErrorT | None:
    """The first error of a kind in an error: itself, or a member of a group."""
    found = (leaf for leaf in leaves_of(error) if issubclass(type(leaf), kind))  # whatever it says of its class
    return cast("ErrorT | None", next(found, None))
