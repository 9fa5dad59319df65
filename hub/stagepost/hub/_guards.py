"""Guards of tasks that run other people's code: they find what that code left in the task, and remove it.

Code can leave a cancel scope or a task group open, or cancel the task that it runs in. Neither anyio nor trio has a
public way to ask for the scope that a task is in, so this module (and no other) reads their private attributes. If a
later version lacks such an attribute, nothing is found, and code runs as it would without a guard.
"""

import asyncio
import math
import sys
from collections.abc import Callable
from contextlib import suppress
from operator import attrgetter
from typing import Any, Final, Protocol

from anyio import CancelScope, current_effective_deadline, get_cancelled_exc_class

_MUST_CANCEL: Final[Callable[[object], bool]] = attrgetter("_must_cancel")
_NEVER: Final[Callable[[object], bool]] = ().__contains__


class TaskState(Protocol):
    """The event loop's record of a task."""

    @property
    def cancel_scope(self) -> object:
        """The innermost cancel scope of the task, or what represents it."""


class CancelCounter(Protocol):
    """Counts how often a task was cancelled by `asyncio.Task.cancel`."""

    def cancelling(self) -> int:
        """The number of pending cancellations."""


class TaskGuard(Protocol):
    """Remembers a task before it runs other people's code; finds what that code left in it, and removes it.

    `is_intact` tells whether it left nothing. Code that checks for each message or step writes it inline::

        guard.state.cancel_scope is guard.scope and (
            guard.task is None or (guard.task.cancelling() or guard.is_to_come(guard.task)) == guard.counted
        )
    """

    @property
    def state(self) -> TaskState:
        """What the event loop knows of the task."""

    @property
    def scope(self) -> object:
        """The innermost cancel scope when the guard was made: a different one in `state` was left open."""

    @property
    def task(self) -> CancelCounter | None:
        """Counts cancellations of the task; None if they do not concern the guard."""

    @property
    def counted(self) -> int:
        """The number of cancellations when the guard was made."""

    @property
    def is_to_come(self) -> Callable[[object], bool]:
        """Whether a task is still cancelled once, though that was taken back, as happens before Python 3.13."""

    def is_intact(self) -> bool:
        """Whether the task is unchanged."""

    def close_scopes(self) -> bool:
        """Cancel and close scopes and task groups that were left open, at once; True if there were any.

        The task must end soon: a generator that is closed later may still close such a group in this task.
        """

    async def leave_scopes(self) -> bool:
        """Do the same for a task that continues: on trio, wait for the tasks of the groups to end."""

    async def drop_cancellation(self) -> bool:
        """Undo an `asyncio.Task.cancel` that no scope called; True if there was one. Not while a scope cancels.

        Call it in the cancel scope in which the guard was made, or outside it.
        """


def new_guard(*, is_own: bool = True) -> TaskGuard:
    """Make a guard of the running task.

    Args:
        is_own: Whether only the guarded code has a reason to call the task's ``cancel``. Otherwise, as in a task of
            somebody else, such a cancellation is left alone.
    """
    if get_cancelled_exc_class() is asyncio.CancelledError:
        return _AsyncioGuard(is_own=is_own)
    return _TrioGuard()


def watch_cancel(callback: Callable[[], None]) -> None:
    """Call back when somebody cancels the running task: checking after each message would cost 3 % of its time.

    An instance attribute shadows the method of the class for everybody, anyio and asyncio included.
    """
    if get_cancelled_exc_class() is not asyncio.CancelledError:
        return  # on trio only scopes cancel a task
    task: Any = asyncio.current_task()
    cancel = task.cancel

    def watched(msg: object = None) -> bool:
        callback()
        return bool(cancel(msg))

    task.cancel = watched


def cancellation() -> type[BaseException]:
    """The cancellation error of the running event loop."""
    return get_cancelled_exc_class()


def is_cancelled(*, by_scope: bool = False) -> bool | None:
    """Whether the running task is being cancelled, by a cancel scope or by `asyncio.Task.cancel`.

    Args:
        by_scope: Ignore `asyncio.Task.cancel`.

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
    """The state of a task that cannot be read."""

    cancel_scope: object = None


class _AsyncioGuard:
    """A guard of an asyncio task."""

    __slots__ = ("_task", "counted", "is_to_come", "scope", "state", "task")

    def __init__(self, *, is_own: bool) -> None:
        task: Any = asyncio.current_task()
        self._task = task
        self.state: TaskState = _asyncio_state(task)
        self.scope = self.state.cancel_scope
        self.task: CancelCounter | None = task if is_own else None
        self.counted: int = task.cancelling()
        self.is_to_come = _to_come(task)

    def is_intact(self) -> bool:
        task = self.task
        return self.state.cancel_scope is self.scope and (
            task is None or (task.cancelling() or self.is_to_come(task)) == self.counted
        )

    def close_scopes(self) -> bool:
        state: Any = self.state
        left = state.cancel_scope is not self.scope
        while (scope := state.cancel_scope) is not None and scope is not self.scope:
            scope.cancel()  # this ends the tasks of a group
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
        if is_to_come:  # consumed here, or the next await would raise it
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        while task.cancelling() > self.counted:
            task.uncancel()
        return was_called or bool(is_to_come)


def _to_come(task: object) -> Callable[[object], bool]:
    """Looks whether a task is still cancelled though that was taken back; a function in C, as each step calls it."""
    return _MUST_CANCEL if sys.version_info < (3, 13) and hasattr(task, "_must_cancel") else _NEVER


def _asyncio_state(task: "asyncio.Task[Any]") -> TaskState:
    """The record that anyio has of a task, which exists from its first cancel scope on."""
    from anyio._backends import _asyncio  # noqa: PLC0415 - where trio is used, it need not be loaded

    states: Any = getattr(_asyncio, "_task_states", {})
    if task not in states:
        with CancelScope():  # noqa: ASYNC100 - entering it is all that it is for
            pass
    state: TaskState = states.get(task, _Unknown())
    return state if hasattr(state, "cancel_scope") else _Unknown()


class _TrioState:
    """The innermost scope or nursery of a trio task, given its nurseries before."""

    __slots__ = ("_known", "task")

    def __init__(self, task: Any) -> None:
        self.task = task
        self._known = len(task._child_nurseries)

    @property
    def nursery(self) -> Any:
        """The innermost nursery opened since; None if there is none."""
        nurseries = self.task._child_nurseries
        return nurseries[-1] if len(nurseries) > self._known else None

    @property
    def cancel_scope(self) -> object:
        nurseries = self.task._child_nurseries
        return nurseries[-1] if len(nurseries) > self._known else self.task._cancel_status


class _TrioGuard:
    """A guard of a trio task, which only scopes and nurseries cancel."""

    __slots__ = ("_known", "counted", "is_to_come", "scope", "state", "task")

    def __init__(self) -> None:
        import trio  # noqa: PLC0415 - not installed where asyncio is used

        task: Any = trio.lowlevel.current_task()
        self._known = _TrioState(task) if _is_known(task, trio.Nursery) else None
        self.state: TaskState = self._known or _Unknown()
        self.scope = self.state.cancel_scope
        self.task: CancelCounter | None = None
        self.counted = 0
        self.is_to_come = _NEVER

    def is_intact(self) -> bool:
        return self.state.cancel_scope is self.scope

    def close_scopes(self) -> bool:
        known = self._known
        if known is None or self.is_intact():
            return False
        while (nursery := known.nursery) is not None:  # as trio does for a task that ends with open nurseries
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
            await nursery._nested_child_finished(None)  # as leaving its block would
        self._leave_statuses(known)
        return True

    def _leave_statuses(self, known: _TrioState) -> None:
        while (status := known.task._cancel_status) not in (self.scope, None):
            status._scope.__exit__(None, None, None)

    async def drop_cancellation(self) -> bool:
        return False


def _is_known(task: Any, nursery: type) -> bool:
    """Whether this version of trio has every attribute that a guard uses."""
    has_status = hasattr(getattr(task, "_cancel_status", None), "_scope")
    return has_status and hasattr(task, "_child_nurseries") and hasattr(nursery, "_nested_child_finished")
