"""A task as it was before it ran somebody else's code: what that code left in it, and how to remove that.

Code can leave a cancel scope or a task group open, or cancel the task that it runs in. Neither anyio nor trio has a
public way to ask for the scope that a task is in, so this module alone reads what they keep to themselves. Where a
later version has nothing under such a name, nothing is found, and code runs as it would without a guard.
"""

import asyncio
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from anyio import CancelScope, current_effective_deadline, get_cancelled_exc_class


class TaskState(Protocol):
    """What an event loop knows of a task."""

    @property
    def cancel_scope(self) -> object:
        """The innermost cancel scope that the task is in, or what stands for it."""


class CancelCounter(Protocol):
    """What knows how often a task was cancelled by `asyncio.Task.cancel`."""

    def cancelling(self) -> int:
        """How often."""


class TaskGuard(Protocol):
    """A task as it was before it ran somebody else's code: finds what that code left in it, and removes it.

    `is_intact` tells whether there is anything. Where that is asked for each message or step, it is written out:
    ``guard.state.cancel_scope is guard.scope and (guard.task is None or guard.task.cancelling() == guard.counted)``.
    """

    @property
    def state(self) -> TaskState:
        """What the event loop knows of the task."""

    @property
    def scope(self) -> object:
        """The innermost cancel scope of the task as it was: another one in its `state` was left open."""

    @property
    def task(self) -> CancelCounter | None:
        """Knows how often the task was cancelled; None if that is none of the guard's business."""

    @property
    def counted(self) -> int:
        """How often it had been cancelled."""

    def is_intact(self) -> bool:
        """Whether the task is as it was."""

    def close_scopes(self) -> bool:
        """Cancel and close the scopes and task groups that were left open, at once; whether there were any.

        The task must end soon: a generator that is closed later may still close such a group in the task's name.
        """

    async def leave_scopes(self) -> bool:
        """Do the same for a task that goes on: on trio, it waits for the tasks of the groups to end."""

    async def drop_cancellation(self) -> bool:
        """Undo `asyncio.Task.cancel`, which no scope has called; whether it was called. Nothing while a scope cancels.

        Call it in the cancel scope that the guard was made in, or outside of that.
        """


def new_guard(*, is_own: bool = True) -> TaskGuard:
    """The running task as it is now.

    Args:
        is_own: Whether nobody but the guarded code has a reason to call the task's ``cancel``. Otherwise, as in a task
            of somebody else's, such a cancellation is left as it is.
    """
    if get_cancelled_exc_class() is asyncio.CancelledError:
        return _AsyncioGuard(is_own=is_own)
    return _TrioGuard()


def watch_cancel(callback: Callable[[], None]) -> None:
    """Be told when somebody cancels the running task: looking after each message would cost 3 % of its way.

    A method of the task is put before that of its class, which all find who have the task, anyio and asyncio included.
    """
    if get_cancelled_exc_class() is not asyncio.CancelledError:
        return  # only scopes cancel a task of trio
    task: Any = asyncio.current_task()
    cancel = task.cancel

    def watched(msg: object = None) -> bool:
        callback()
        return bool(cancel(msg))

    task.cancel = watched


def cancellation() -> type[BaseException]:
    """The class of the error by which the event loop that runs now cancels a task."""
    return get_cancelled_exc_class()


def is_cancelled(*, by_scope: bool = False) -> bool | None:
    """Whether the running task is being cancelled, by a cancel scope or by `asyncio.Task.cancel`.

    Args:
        by_scope: Leave the latter aside.

    Returns:
        None if no task is running.
    """
    try:
        on_asyncio = get_cancelled_exc_class() is asyncio.CancelledError
        task = asyncio.current_task() if on_asyncio else None
    except RuntimeError:
        return None
    if on_asyncio and task is None:
        return None
    natively = task is not None and not by_scope and task.cancelling() > 0
    return natively or current_effective_deadline() == -math.inf


class _Unknown:
    """Stands for the state of a task that cannot be seen."""

    cancel_scope: object = None


class _PendingCounter:
    """Counts a cancellation that was taken back and arrives all the same, as before Python 3.13."""

    __slots__ = ("_task",)

    def __init__(self, task: Any) -> None:
        self._task = task

    def cancelling(self) -> int:
        return int(self._task.cancelling() or self._task._must_cancel)


class _AsyncioGuard:
    """A guard of an asyncio task."""

    __slots__ = ("_task", "counted", "scope", "state", "task")

    def __init__(self, *, is_own: bool) -> None:
        task: Any = asyncio.current_task()
        self._task = task
        self.state: TaskState = _asyncio_state(task)
        self.scope = self.state.cancel_scope
        self.task: CancelCounter | None = _counter(task) if is_own else None
        self.counted: int = task.cancelling()

    def is_intact(self) -> bool:
        task = self.task
        return self.state.cancel_scope is self.scope and (task is None or task.cancelling() == self.counted)

    def close_scopes(self) -> bool:
        state: Any = self.state
        left = state.cancel_scope is not self.scope
        while (scope := state.cancel_scope) is not None and scope is not self.scope:
            scope.cancel()  # tasks of a group end by that
            scope.__exit__(None, None, None)
        return left

    async def leave_scopes(self) -> bool:
        return self.close_scopes()

    async def drop_cancellation(self) -> bool:
        task = self._task
        if self.task is None or is_cancelled(by_scope=True):
            return False
        was_called = task.cancelling() > self.counted
        is_to_come = getattr(task, "_must_cancel", was_called)
        if is_to_come:  # taken here, or the next await would raise it
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        while task.cancelling() > self.counted:
            task.uncancel()
        return was_called or bool(is_to_come)


def _counter(task: Any) -> CancelCounter:
    is_needed = sys.version_info < (3, 13) and hasattr(task, "_must_cancel")
    counter: CancelCounter = _PendingCounter(task) if is_needed else task
    return counter


def _asyncio_state(task: "asyncio.Task[Any]") -> TaskState:
    """What anyio knows of a task, from its first cancel scope on."""
    from anyio._backends import _asyncio  # noqa: PLC0415 - where trio is used, it need not be loaded

    states: Any = getattr(_asyncio, "_task_states", {})
    if task not in states:
        with CancelScope():  # noqa: ASYNC100 - entering it is all that it is for
            pass
    state: TaskState = states.get(task, _Unknown())
    return state if hasattr(state, "cancel_scope") else _Unknown()


class _TrioState:
    """The innermost scope or nursery of a trio task that had some nurseries before."""

    __slots__ = ("_known", "task")

    def __init__(self, task: Any) -> None:
        self.task = task
        self._known = len(task._child_nurseries)

    @property
    def nursery(self) -> Any:
        """The innermost one that was opened since; None if there is none."""
        nurseries = self.task._child_nurseries
        return nurseries[-1] if len(nurseries) > self._known else None

    @property
    def cancel_scope(self) -> object:
        nurseries = self.task._child_nurseries
        return nurseries[-1] if len(nurseries) > self._known else self.task._cancel_status


class _TrioGuard:
    """A guard of a trio task, which only scopes and nurseries cancel."""

    __slots__ = ("_known", "counted", "scope", "state", "task")

    def __init__(self) -> None:
        import trio  # noqa: PLC0415 - not installed where asyncio is used

        task: Any = trio.lowlevel.current_task()
        self._known = _TrioState(task) if _is_known(task, trio.Nursery) else None
        self.state: TaskState = self._known or _Unknown()
        self.scope = self.state.cancel_scope
        self.task: CancelCounter | None = None
        self.counted = 0

    def is_intact(self) -> bool:
        return self.state.cancel_scope is self.scope

    def close_scopes(self) -> bool:
        known = self._known
        if known is None or self.is_intact():
            return False
        while (nursery := known.nursery) is not None:  # as trio does it for a task that ends, a failure of it there
            known.task._child_nurseries.pop()
            nursery.cancel_scope.cancel()
            nursery._closed = True
        self._leave_statuses(known)
        return True

    async def leave_scopes(self) -> bool:
        known = self._known
        if known is None or self.is_intact():
            return False
        while (nursery := known.nursery) is not None:
            nursery.cancel_scope.cancel()
            await nursery._nested_child_finished(None)  # what leaving its block does
        self._leave_statuses(known)
        return True

    def _leave_statuses(self, known: _TrioState) -> None:
        while (status := known.task._cancel_status) not in (self.scope, None):
            status._scope.__exit__(None, None, None)

    async def drop_cancellation(self) -> bool:
        return False


def _is_known(task: Any, nursery: type) -> bool:
    """Whether this version of trio has all that a guard reads and calls."""
    has_status = hasattr(getattr(task, "_cancel_status", None), "_scope")
    return has_status and hasattr(task, "_child_nurseries") and hasattr(nursery, "_nested_child_finished")
