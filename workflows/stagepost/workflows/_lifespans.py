"""What runs need open around them, such as connections: opened once, shared, and closed after the last of them."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeAlias

import anyio
from anyio.abc import TaskGroup

from stagepost.hub import get_logger, new_guard

from ._answer import Answer
from ._containment import own_failure
from ._pattern_errors import describe
from ._strand import mend
from .errors import LifespanFailed, RunnerNotOpen

Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[object]]
Mask: TypeAlias = Callable[[str], str]

_AT_LEAST = 1.0  # seconds to close a connection in, however hurried the runner is


class _Held:
    """A lifespan that is being entered, is open, or is being left.

    Attributes:
        lifespan: It.
        is_open: Whether it was entered.
        resources: What it gives, if so.
        gives: The same, for who waits for it.
        left: Set when it was left.
    """

    def __init__(self, lifespan: Lifespan) -> None:
        self.lifespan = lifespan
        self.is_open = False
        self.resources: object = None
        self.gives: Answer[object] = Answer()
        self.left = anyio.Event()


class Lifespans:
    """Those of one runner: each is entered when it is first needed, and equal ones are one.

    Whoever enters a cancel scope has to leave it, so each has a task of its own that enters it and leaves it again.

    Args:
        group: Whose tasks do so.
        mask: Hides secrets in what is logged.
    """

    def __init__(self, group: TaskGroup, mask: Mask | None = None) -> None:
        self._group = group
        self._log = get_logger("workflows", mask=mask)
        self._closing = anyio.Event()
        self._held: list[_Held] = []
        self._errors: list[Exception] = []

    async def enter(self, workflow: str, lifespan: Lifespan | None) -> object:
        """What a workflow's lifespan gives; None if it has none.

        Raises:
            LifespanFailed: It could not be entered; the next call tries again.
            RunnerNotOpen: The runner is being left.
        """
        if lifespan is None:
            return None
        held = next((held for held in self._held if held.lifespan == lifespan), None)
        if held is None:
            if self._closing.is_set():
                raise RunnerNotOpen
            held = _Held(lifespan)
            self._held.append(held)
            self._group.start_soon(self._hold, workflow, held)
        return held.resources if held.is_open else await held.gives.get()

    async def close(self, limit: float) -> None:
        """Leave all of them, in `limit` seconds at most (but always in one); what takes longer is cancelled."""
        self._closing.set()
        try:
            with anyio.move_on_after(max(limit, _AT_LEAST)):
                for held in tuple(self._held):
                    await held.left.wait()
        finally:
            self._group.cancel_scope.cancel()

    def check(self) -> None:
        """See that none went wrong once it was entered.

        Raises:
            Exception: What went wrong; several errors in a group.
        """
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise ExceptionGroup("lifespans of workflows", self._errors)

    async def _hold(self, workflow: str, held: _Held) -> None:
        guard = new_guard()
        try:
            async with held.lifespan() as held.resources:
                held.is_open = True
                held.gives.give(held.resources)
                await self._closing.wait()
        except BaseException as error:  # noqa: BLE001  # a user's function fails whoever asked for it, not the runner
            await mend(guard)
            failure = own_failure(error)
            if held.is_open:
                self._note(workflow, failure)
            else:
                held.gives.fail(_failure(workflow, failure))
        else:
            await mend(guard)
        finally:
            held.gives.fail(RunnerNotOpen())  # unless it has been given, or has failed
            self._held.remove(held)
            held.left.set()

    def _note(self, workflow: str, failure: BaseException) -> None:
        """Log what went wrong in a lifespan that was open, and keep it for whoever leaves the runner."""
        self._log.error("lifespan failed", workflow=workflow, exc_info=failure)
        self._errors.append(failure if isinstance(failure, Exception) else _failure(workflow, failure))


@asynccontextmanager
async def open_lifespans(limit: float, mask: Mask | None = None) -> AsyncIterator[Lifespans]:
    """Lifespans for one runner, left after all that is inside of this.

    Args:
        limit: Seconds to leave them in.
        mask: Hides secrets in what is logged.
    """
    async with anyio.create_task_group() as group:
        lifespans = Lifespans(group, mask)
        try:
            yield lifespans
        finally:
            await lifespans.close(limit)
    lifespans.check()


@asynccontextmanager
async def entered(workflow: str, lifespan: Lifespan) -> AsyncIterator[object]:
    """A lifespan round one run in memory.

    Raises:
        LifespanFailed: It could not be entered.
    """
    async with AsyncExitStack() as stack:
        try:
            resources = await stack.enter_async_context(lifespan())
        except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
            failure = _failure(workflow, own_failure(error))
            raise failure from failure.__cause__
        yield resources


def _failure(workflow: str, error: BaseException) -> LifespanFailed:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    failure = LifespanFailed(workflow, describe(error))
    failure.__cause__ = error
    return failure
