"""The task that steps run in, and what they must leave as it was: its cancel scopes, and that it is not cancelled.

Steps run in the task of their run, or of a worker of a fan-out; a task for each would cost several times as much as a
step in memory. So whatever a step leaves in that task would harm the steps after it: an open cancel scope whose time is
up later, or a cancellation of the task that arrives at the engine's next commit. After each step a comparison finds
that, and it is mended.

anyio has no public way to ask for the scope that a task is in, so each backend is asked in its own way. Where a later
version of one has nothing under that name, nothing is found, and steps run as before.
"""

import asyncio
import math
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final, Protocol, TypeVar

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


class Host(Protocol):
    """What knows the cancel scope that a task is in."""

    @property
    def cancel_scope(self) -> object:
        """The innermost one, or what stands for it."""
        ...


class Counter(Protocol):
    """What knows how often a task was cancelled."""

    def cancelling(self) -> int:
        """How often; or what else has to be as it was."""
        ...


class Strand(Protocol):
    """A task in the state in which it was when steps began to run in it.

    It still is while ``host.cancel_scope is scope and (task is None or task.cancelling() == counted)``, which is
    written out where each step comes by.

    Attributes:
        host: Knows the cancel scope that the task is in.
        scope: Which that was.
        task: Knows how often it was cancelled; None if somebody else may have reason to cancel it.
        counted: How often that was.
    """

    scope: object
    counted: int

    @property
    def host(self) -> Host:
        """See above."""
        ...

    @property
    def task(self) -> Counter | None:
        """See above."""
        ...

    async def mend(self) -> str | None:
        """Bring the task back to that state; what was wrong, unless it is so from outside."""
        ...


class _Unknown:
    """Stands for a state of a task that nobody can see, or has seen yet."""

    cancel_scope: object = None


class _NoStrand:
    """Stands for the strand of a branch that nobody works on."""

    host: Host = _Unknown()
    scope: object = None
    task: Counter | None = None
    counted = 0

    async def mend(self) -> str | None:
        return None


UNKNOWN: Final[Strand] = _NoStrand()


def this_strand(*, is_own: bool) -> Strand:
    """The running task as it is now.

    Args:
        is_own: Whether it is the engine's own, so that nobody else has a reason to call its ``cancel``.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # another event loop runs
        task = None
    return _TrioStrand() if task is None else _AsyncioStrand(task, is_own=is_own)


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
        if not is_intact(strand) and not is_closing(error):
            await strand.mend()
        failure = own_failure(error)
        if failure is error:
            raise
        raise failure from error
    if not is_intact(strand) and (wrong := await strand.mend()) is not None:
        raise UncleanStep(name, wrong)
    return result


def is_intact(strand: Strand) -> bool:
    """Whether a task is in the state in which it was."""
    is_same = strand.host.cancel_scope is strand.scope
    return is_same and (strand.task is None or strand.task.cancelling() == strand.counted)


def is_closing(error: BaseException) -> bool:
    """Whether a coroutine is being closed, so that nothing can be awaited in it any more."""
    return isinstance(error, GeneratorExit) and failure_of(error) is None


class _AsyncioStrand:
    """A task of asyncio."""

    __slots__ = ("counted", "host", "scope", "task")

    def __init__(self, task: "asyncio.Task[Any]", *, is_own: bool) -> None:
        host = _states().get(task)
        if host is None:
            with CancelScope():  # noqa: ASYNC100  # entering it is all that it is for
                pass  # from now on anyio has a state for the task
            host = _states().get(task, _Unknown())
        self.host: Any = host
        self.scope: object = host.cancel_scope
        self.task = task if is_own else None
        self.counted = task.cancelling()

    async def mend(self) -> str | None:
        wrong = None
        while (scope := self.host.cancel_scope) not in (None, self.scope):
            wrong = OPEN_SCOPE
            scope.cancel()  # tasks of a group end by that
            scope.__exit__(None, None, None)
        task = self.task
        if task is not None and task.cancelling() > self.counted and current_effective_deadline() != -math.inf:
            wrong = wrong or OWN_TASK
            while task.cancelling() > self.counted:
                task.uncancel()
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)  # a cancellation that has not been delivered yet is delivered here
        return wrong


class _TrioTask:
    """A task of trio, which has no cancellation of its own but scopes and nurseries."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: Any = sys.modules["trio"].lowlevel.current_task()

    @property
    def cancel_scope(self) -> Any:
        return getattr(self.known, "_cancel_status", None)

    def cancelling(self) -> int:
        return len(getattr(self.known, "_child_nurseries", ()))


class _TrioStrand:
    """See `_TrioTask`."""

    __slots__ = ("counted", "host", "scope", "task")

    def __init__(self) -> None:
        self.host = _TrioTask()
        self.scope: object = self.host.cancel_scope
        self.task: Counter | None = self.host
        self.counted = self.host.cancelling()

    async def mend(self) -> str | None:
        while self.host.cancelling() > self.counted:
            nursery = self.host.known.child_nurseries[-1]
            nursery.cancel_scope.cancel()
            await nursery._nested_child_finished(None)  # noqa: SLF001  # what leaving its block does
        while (status := self.host.cancel_scope) not in (self.scope, None):
            status._scope.__exit__(None, None, None)  # noqa: SLF001  # as above
        return OPEN_SCOPE


@cache
def _states() -> Any:
    return getattr(sys.modules["anyio._backends._asyncio"], "_task_states", {})
