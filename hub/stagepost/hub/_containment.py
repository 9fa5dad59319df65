"""What an error of somebody else's code means, decided in one place: failure, or cancellation from outside."""

from collections.abc import Iterator
from typing import Final

from ._guards import cancellation, is_cancelled

# Read through the descriptors of the base classes, because a subclass may have replaced them.
_members: Final = vars(BaseExceptionGroup)["exceptions"].__get__
_message: Final = vars(BaseExceptionGroup)["message"].__get__
_name: Final = vars(type)["__qualname__"].__get__


def failure_of(error: BaseException) -> BaseException | None:
    """The part of an error that is the failure of the code that raised it; None if it was only cancelled from outside.

    Call it in the task that ran the code, after the code has ended and outside of the cancel scopes that the code may
    have opened. The rule:

    - While the task is being cancelled, a cancellation error (`anyio.get_cancelled_exc_class`) is not the code's own.
      The task is being cancelled while a cancel scope around it is cancelled and, on asyncio, also while
      `asyncio.Task.cancel` was called and not taken back by ``uncancel``, as `asyncio.timeout` does in the end.
    - Without that, a cancellation error is the code's own: it awaited something that was cancelled, or made it up.
    - When no task is running, `GeneratorExit` is cancellation: the coroutine is being closed.
    - Anything else is the code's own, whatever its class: `SystemExit` and `KeyboardInterrupt` too.
    - A group is judged by its members, at any depth. If all of them are the code's own, it is returned as it is;
      otherwise what remains of it is one flat group.

    What this cannot tell: code that calls ``cancel`` of its own task, or leaves a cancelled scope open, looks as if it
    was cancelled from outside. A caller that has to know must compare the state of the task before and after.
    """
    return own_part(error, cancelled=is_cancelled())


def own_part(error: BaseException, *, cancelled: bool | None) -> BaseException | None:
    """The part of an error that is not cancellation, by the rule of `failure_of`.

    Args:
        error: What was raised.
        cancelled: Whether the task is being cancelled; None if no task is running.
    """
    if cancelled is False:
        return error
    outside = GeneratorExit if cancelled is None else cancellation()
    leaves = list(leaves_of(error))
    own = [leaf for leaf in leaves if not issubclass(type(leaf), outside)]
    if len(own) == len(leaves):
        return error
    return BaseExceptionGroup(_message(error), own) if own else None


def is_fatal(failure: BaseException) -> bool:
    """Whether a failure is, or holds at any depth, a `KeyboardInterrupt`, which nobody contains."""
    return any(issubclass(type(leaf), KeyboardInterrupt) for leaf in leaves_of(failure))


def describe_error(error: BaseException) -> str:
    """The name of an error's class and its text, or why that cannot be read.

    It raises nothing but a `KeyboardInterrupt` that comes meanwhile.
    """
    name = class_name(type(error))
    try:
        text = str.__str__(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as flaw:  # noqa: BLE001 - the text of an error is code of somebody else, too
        return f"{name} (its text cannot be read: str() raised {class_name(type(flaw))})"
    return f"{name}: {text}" if text else name


def class_name(cls: type) -> str:
    """The qualified name of a class, whatever its metaclass makes of it."""
    name: str = _name(cls)
    return name


def leaves_of(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, at any depth; an error that is no group is its own only leaf."""
    pending = [error]
    while pending:
        last = pending.pop()
        if issubclass(type(last), BaseExceptionGroup):
            pending.extend(reversed(_members(last)))
        else:
            yield last
