"""Running somebody else's code so that it yields an outcome and raises nothing.

Hooks, factories, observers and clocks run here; only `KeyboardInterrupt` passes. A worker calls handlers in its own
loop, because one more call for each message would cost too much, and uses `Containment` for their errors.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from anyio import CancelScope

from stagepost._dataclasses import dataclass

from ._containment import is_fatal, own_part
from ._guards import TaskGuard, is_cancelled, new_guard

T = TypeVar("T")


class Containment:
    """The boundary between a task of the hub and other people's code that it runs.

    Attributes:
        guard: The state of the task before.
        left_scopes: Whether the code left scopes open that had to be closed. The task must end then.
        left_cancellation: Whether a cancellation had to be undone.
    """

    __slots__ = ("guard", "left_cancellation", "left_scopes")

    def __init__(self, guard: TaskGuard) -> None:
        self.guard = guard
        self.left_scopes = False
        self.left_cancellation = False

    def failure_of(self, error: BaseException) -> BaseException | None:
        """The part of an error that is the code's own failure; None if it was only cancelled by a scope of the hub."""
        self.close_scopes()
        return own_part(error, cancelled=is_cancelled(by_scope=True))

    def close_scopes(self) -> None:
        """Close the scopes that the code left open, so that they cancel nothing later."""
        if self.guard.close_scopes():
            self.left_scopes = True

    async def drop_cancellation(self) -> None:
        """Undo a cancellation of the task by the code. Call it outside all scopes that the task has opened."""
        if await self.guard.drop_cancellation():
            self.left_cancellation = True

    @property
    def left(self) -> str | None:
        """What the code left in its task, for the log."""
        return "an open cancel scope" if self.left_scopes else "a cancellation" if self.left_cancellation else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call.

    Attributes:
        failure: The error that the code raised.
        cancelled: Whether the hub cancelled it.
        left: What it left in its task.
    """

    failure: BaseException | None = None
    cancelled: bool = False
    left: str | None = None


async def run_contained(call: Callable[[], Awaitable[object]], scope: CancelScope) -> Outcome:
    """Run other people's code in a scope that can cancel it. The task must be shielded from all others."""
    failure = None
    with scope:
        containment = Containment(new_guard())
        try:
            await call()
        except BaseException as error:
            failure = containment.failure_of(error)
            if failure is None and not scope.cancel_called:
                raise  # the interpreter closes this coroutine
            cancelled = failure is None
        else:
            cancelled = False
        containment.close_scopes()
    await containment.drop_cancellation()
    return Outcome(failure, cancelled, containment.left)


def attempt(call: Callable[..., T], *arguments: object, **options: object) -> tuple[T | None, BaseException | None]:
    """Call somebody else's function.

    Returns:
        Its result, or its error.

    Raises:
        KeyboardInterrupt: It raised that, alone or in a group.
    """
    try:
        return call(*arguments, **options), None
    except BaseException as error:
        if is_fatal(error):
            raise
        return None, error
