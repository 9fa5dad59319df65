"""Calls that cross from other threads into the event loop of a hub."""

from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from anyio import CancelScope

from ._contained import run_contained
from ._containment import is_fatal
from .errors import HubStopped

ResultT = TypeVar("ResultT")

Spawn = Callable[[Context, Callable[[], Coroutine[Any, Any, None]], str], None]


class _Crossing:
    """One call: made in one thread, done in another."""

    __slots__ = ("_scope", "call", "context", "future")

    def __init__(self, call: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.call = call
        self.context = copy_context()
        self.future: Future[Any] = Future()
        self._scope: CancelScope | None = None

    def new_scope(self) -> CancelScope:
        """Make the scope in which it runs."""
        self._scope = CancelScope()
        return self._scope

    def give_up(self) -> None:
        """Cancel it, or do not even begin: its thread no longer waits."""
        if self._scope is None:
            self.refuse(CancelledError())
        else:
            self._scope.cancel()

    async def work(self) -> None:
        """Do it."""
        self.future.set_result(await self.call())

    def refuse(self, error: BaseException) -> None:
        """End the call with an error, unless it has ended."""
        if not self.future.done():
            self.future.set_exception(error)


class Crossings:
    """The calls from other threads that are under way. Each runs in a task of the hub, and all end with the hub.

    A call keeps the context variables of its thread: in a thread that a handler has started, it belongs to the message
    that is handled, with its trace, its deadline and the chain of those who wait.
    """

    __slots__ = ("_call_soon", "_end", "_hub", "_is_closed", "_lock", "_open", "_spawn")

    def __init__(
        self,
        hub: str,
        call_soon: Callable[[Callable[[], object]], object],
        spawn: Spawn,
        end: Callable[[BaseException], None],
    ) -> None:
        self._hub = hub
        self._call_soon = call_soon
        self._spawn = spawn
        self._end = end
        self._lock = Lock()
        self._open: set[_Crossing] = set()
        self._is_closed = False

    def call(self, call: Callable[[], Coroutine[Any, Any, ResultT]], what: str) -> ResultT:
        """Call in the hub's loop and wait for the result. Not in a thread that runs an event loop.

        Args:
            call: What to await there.
            what: The recipient or topic, for the error.

        Raises:
            HubStopped: The hub has ended, or ends before the call has.
        """
        crossing = _Crossing(call)
        with self._lock:
            if self._is_closed:
                raise HubStopped(what, self._hub)
            self._open.add(crossing)
        try:
            self._submit(partial(self._begin, crossing, what), what)
            result: ResultT = crossing.future.result()
        except BaseException:
            self._give_up(crossing)
            raise
        finally:
            with self._lock:
                self._open.discard(crossing)
        return result

    def _submit(self, begin: Callable[[], None], what: str) -> None:
        try:
            self._call_soon(begin)
        except RuntimeError:  # the loop has ended without the hub
            raise HubStopped(what, self._hub) from None

    def close(self) -> None:
        """The hub has ended: refuse those whose task will never start, as the loop may have stopped."""
        with self._lock:
            self._is_closed = True
            rest, self._open = self._open, set()
        for crossing in rest:
            crossing.refuse(HubStopped("*", self._hub))

    def _give_up(self, crossing: _Crossing) -> None:
        """Cancel the call if its thread no longer waits, for example because of an interrupt from the keyboard."""
        if not crossing.future.done():
            with suppress(RuntimeError):  # the loop has ended
                self._call_soon(crossing.give_up)

    def _begin(self, crossing: _Crossing, what: str) -> None:
        if crossing.future.done():
            return
        work = self._run(crossing, what)
        try:
            self._spawn(crossing.context, lambda: work, "stagepost call from a thread")
        except RuntimeError:  # the task group has ended, the hub will have in a moment
            work.close()
            crossing.refuse(HubStopped(what, self._hub))

    async def _run(self, crossing: _Crossing, what: str) -> None:
        try:
            failure = (await run_contained(crossing.work, crossing.new_scope())).failure
            if failure is not None and is_fatal(failure):
                self._end(failure)
            crossing.refuse(failure if isinstance(failure, Exception) else CancelledError())
        finally:
            crossing.refuse(HubStopped(what, self._hub))  # it was cancelled with the hub
