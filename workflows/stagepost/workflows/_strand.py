"""The task that steps run in, and what they must leave as it was: its cancel scopes, and that it is not cancelled.

Steps run in the task of their run, or of a worker of a fan-out; a task for each would cost several times as much as a
step in memory. So whatever a step leaves behind in it would harm the steps after it: an open cancel scope whose time is
up later, or a cancellation of the task that arrives at the engine's next commit. It is looked for after each step, which
costs a comparison, and mended.

anyio has no public way to ask for the scope that a task is in, so each backend is asked in its own way. Where a later
version of one has nothing under that name, nothing is found, and steps run as before.
"""

import asyncio
import math
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import anyio
from anyio import CancelScope, current_effective_deadline

from stagepost.hub import failure_of

from ._containment import own_failure
from .errors import UncleanStep

ResultT = TypeVar("ResultT")

OPEN_SCOPE = (
    "left a cancel scope open: leave each `with` and `async with` that it enters, "
    "and close async generators that are not exhausted (contextlib.aclosing)"
)
OWN_TASK = "cancelled the task that it runs in, or had it cancelled by what it left under way"


class Strand(Protocol):
    """A task in the state in which it was when steps began to run in it."""

    @property
    def is_intact(self) -> bool:
        """Whether it is in that state."""
        ...

    async def mend(self) -> str | None:
        """Bring it back to that state; what was wrong, unless that comes from outside."""
        ...


def this_strand(*, is_own: bool) -> Strand:
    """The running task as it is now.

    Args:
        is_own: Whether it is the engine's own, so that nobody else has a reason to call its ``cancel``.
    """
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        return _AsyncioStrand(is_own=is_own)
    return _TrioStrand()


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
    strand = this_strand(is_own=is_own)
    try:
        result = await call()
    except BaseException as error:
        if not strand.is_intact and not is_closing(error):
            await strand.mend()
        failure = own_failure(error)
        if failure is error:
            raise
        raise failure from error
    if not strand.is_intact and (wrong := await strand.mend()) is not None:
        raise UncleanStep(name, wrong)
    return result


def is_closing(error: BaseException) -> bool:
    """Whether a coroutine is being closed, so that nothing can be awaited in it any more."""
    return isinstance(error, GeneratorExit) and failure_of(error) is None


class _AsyncioStrand:
    """A task of asyncio."""

    __slots__ = ("_cancelling", "_is_own", "_scope", "_state", "_task")

    def __init__(self, *, is_own: bool) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # nothing else awaits
        if task not in _states():
            with CancelScope():
                pass  # from now on anyio has a state for the task
        self._task = task
        self._state: Any = _states().get(task)
        self._scope: CancelScope | None = getattr(self._state, "cancel_scope", None)
        self._is_own = is_own
        self._cancelling = task.cancelling()

    @property
    def is_intact(self) -> bool:
        is_same = self._state is None or self._state.cancel_scope is self._scope
        return is_same and self._task.cancelling() == self._cancelling

    async def mend(self) -> str | None:
        wrong = None
        while self._state is not None and (scope := self._state.cancel_scope) not in (None, self._scope):
            wrong = OPEN_SCOPE
            scope.cancel()  # tasks of a group end by that
            scope.__exit__(None, None, None)
        if self._is_own and self._task.cancelling() > self._cancelling and current_effective_deadline() != -math.inf:
            wrong = wrong or OWN_TASK
            while self._task.cancelling() > self._cancelling:
                self._task.uncancel()
            try:
                await asyncio.sleep(0)  # a cancellation that has not been delivered yet is delivered here
            except asyncio.CancelledError:
                pass
        return wrong


class _TrioStrand:
    """A task of trio, which has no cancellation of its own but scopes and nurseries."""

    __slots__ = ("_nurseries", "_status", "_task")

    def __init__(self) -> None:
        self._task: Any = sys.modules["trio"].lowlevel.current_task()
        self._status = getattr(self._task, "_cancel_status", None)
        self._nurseries = len(self._task.child_nurseries)

    @property
    def is_intact(self) -> bool:
        return getattr(self._task, "_cancel_status", None) is self._status

    async def mend(self) -> str | None:
        while len(self._task.child_nurseries) > self._nurseries:
            nursery = self._task.child_nurseries[-1]
            nursery.cancel_scope.cancel()
            await nursery._nested_child_finished(None)  # noqa: SLF001  # what leaving its block does
        while not self.is_intact:
            self._task._cancel_status._scope.__exit__(None, None, None)  # noqa: SLF001  # as above
        return OPEN_SCOPE


def _states() -> Any:
    return getattr(sys.modules["anyio._backends._asyncio"], "_task_states", {})
