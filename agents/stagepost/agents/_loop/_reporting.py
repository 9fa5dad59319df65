"""Where the progress of one call goes: to those who listen to the run, and to hooks."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from threading import get_ident
from typing import Final, TypeVar

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from stagepost.workflows import StepContext

from .._definition._progress import ProgressHook, ToolProgress, tell_hooks
from .._delegation._calls import PendingCall
from .._live._told import ProgressMade
from .._tools._context import ToolContext
from .._tools._outside import Tell
from ._member import Member

ResultT = TypeVar("ResultT")

_KEPT: Final = 100  # reports that hooks have not taken yet


class Reporting:
    """Takes the reports of one call.

    Args:
        member: The agent that calls.
        hooks: Those of its hooks that are told.
        tool: Name of the tool.
        entry: The call.
        step: The step that makes it.
    """

    def __init__(
        self, member: Member, hooks: Sequence[ProgressHook], tool: str, entry: PendingCall, step: StepContext
    ) -> None:
        self._member = member
        self._hooks = hooks
        self._tool = tool
        self._entry = entry
        self._step = step
        self._thread = get_ident()
        self._token = current_token()
        self._waiting: deque[ToolProgress] | None = None
        self._changed = anyio.Event()

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Take what a tool reports; in a thread, too. Hooks are told as soon as they have taken what came before."""
        if get_ident() != self._thread:
            from_thread.run_sync(self.report, progress, total, message, token=self._token)
            return
        if not self._step.is_heard and self._waiting is None:
            return
        made = self._tell(progress, total, message)
        if self._waiting is not None:
            self._waiting.append(made)
            self._changed.set()

    def of_server(self, context: ToolContext) -> Tell | None:
        """What takes the reports of a server; None if nobody wants to know when the call begins.

        Args:
            context: Told to hooks.
        """
        if not self._hooks and not self._step.is_heard:
            return None

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            await tell_hooks(self._hooks, self._tell(progress, total, message), context)

        return tell

    async def during(self, call: Callable[[], Awaitable[ResultT]], context: ToolContext) -> ResultT:
        """The result of a call, while hooks are told what its tool reports.

        Args:
            call: Makes the call.
            context: Told to hooks.
        """
        failure: BaseException
        self._waiting = waiting = deque[ToolProgress](maxlen=_KEPT)
        async with anyio.create_task_group() as group:
            group.start_soon(self._hand_on, waiting, context)
            try:
                return await call()
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001  # raised again, as it is and not in a group
                failure = error
            finally:
                self._waiting = None
                self._changed.set()
        raise failure

    async def _hand_on(self, waiting: deque[ToolProgress], context: ToolContext) -> None:
        while waiting or self._waiting is not None:
            while waiting:
                await tell_hooks(self._hooks, waiting.popleft(), context)
            if self._waiting is not None:
                await self._changed.wait()
                self._changed = anyio.Event()

    def _tell(self, progress: float, total: float | None, message: str | None) -> ToolProgress:
        """Tell those who listen to the run; what hooks are to be told."""
        message = None if message is None else self._step.mask(message)
        if self._step.is_heard:
            entry, member = self._entry, self._member
            self._step.tell(
                ProgressMade(
                    member.agent.name, member.path, entry.id, entry.number, self._tool, progress, total, message
                )
            )
        return ToolProgress(self._tool, progress, total, message)
