"""What steps must leave in their task as it was: its cancel scopes, and that it is not cancelled.

Steps run in the task of their run, or of a worker of a fan-out; a task for each would cost several times as much as a
step in memory. So whatever a step leaves in that task would harm the steps after it: an open cancel scope whose time is
up later, or a cancellation of the task that arrives at the engine's next commit. After each step a comparison with the
task's guard finds that, and it is mended.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from stagepost.hub import TaskGuard, failure_of, new_guard

from ._containment import own_failure
from .errors import UncleanStep

ResultT = TypeVar("ResultT")

OPEN_SCOPE: Final = (
    "left a cancel scope open: leave each `with` and `async with` that it enters, "
    "and close async generators that are not exhausted (contextlib.aclosing)"
)
OWN_TASK: Final = "cancelled the task that it runs in, or had it cancelled by what it left under way"


async def guarded(name: str, call: Callable[[], Awaitable[ResultT]], *, is_own: bool) -> ResultT:
    """Await a function of a user's within a step; afterwards the task is as it was before.

    Args:
        name: Whose function it is, for errors.
        call: Calls it.
        is_own: Whether the running task is the engine's own: so in a run that is stored.

    Raises:
        UncleanStep: It left a cancel scope open, or cancelled the task.
        BaseException: What it raised, if that is its own failure. Anything else is not to be contained: cancellation
            from outside, `KeyboardInterrupt`, and what the engine raises to itself.
    """
    guard = new_guard(is_own=is_own)
    try:
        result = await call()
    except BaseException as error:
        await mend_after(error, guard)
        failure = own_failure(error)
        if failure is error:
            raise
        raise failure from error
    if not guard.is_intact() and (wrong := await mend(guard)) is not None:
        raise UncleanStep(name, wrong)
    return result


async def mend(guard: TaskGuard) -> str | None:
    """Bring a task back to the state in which it was; what was wrong, unless it is so from outside."""
    has_left, was_cancelled = await guard.leave_scopes(), await guard.drop_cancellation()
    return OPEN_SCOPE if has_left else OWN_TASK if was_cancelled else None


async def mend_after(error: BaseException, guard: TaskGuard) -> str | None:
    """Do so after a function has raised, unless its coroutine is being closed."""
    return None if guard.is_intact() or is_closing(error) else await mend(guard)


def is_closing(error: BaseException) -> bool:
    """Whether a coroutine is being closed, so that nothing can be awaited in it any more."""
    return issubclass(type(error), GeneratorExit) and failure_of(error) is None
