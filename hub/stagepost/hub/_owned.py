"""Tasks that belong to an agent and end with it."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from anyio import CancelScope

from ._callers import set_hook
from ._contained import run_contained
from ._containment import class_name, is_fatal
from ._engine import Engine
from ._events import TaskCrashed


class Employer(Protocol):
    """The workers of an agent, as its tasks see them."""

    engine: Engine

    def release(self, task: "OwnedTask", /) -> None:
        """A task has ended."""

    def note_failure(self, failure: BaseException, envelope: None, /) -> None:
        """Apply the agent's supervision."""


class OwnedTask:
    """A task that an agent owns; see `Context.spawn`.

    Attributes:
        agent: The agent's id.
        name: The task's name.
    """

    __slots__ = ("_call", "_employer", "_is_running", "_scope", "agent", "name")

    def __init__(
        self, agent: str, name: str, call: Callable[[], Coroutine[Any, Any, object]], employer: Employer
    ) -> None:
        self.agent = agent
        self.name = name
        self._call = call
        self._employer = employer
        self._scope = CancelScope()
        self._is_running = True

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._is_running

    @property
    def hub_engine(self) -> Engine:
        """The engine of its hub; not for callers of a hub."""
        return self._employer.engine

    @property
    def in_hook(self) -> bool:
        """Whether code that it runs is called by the agent; not for callers of a hub."""
        return self._is_running

    def cancel(self) -> bool:
        """Cancel it, and do not wait for its end.

        Returns:
            Whether it was still running.

        Raises:
            WrongThread: The hub was entered in another thread or event loop.
        """
        self.hub_engine.check_here("cancel")
        self.end()
        return self._is_running

    def end(self) -> None:
        """Cancel it: its agent leaves; not for callers of a hub, who have `cancel`."""
        self._scope.cancel()

    async def run(self) -> None:
        """Run it, shielded from all but `cancel` and the end of its agent."""
        set_hook(self)
        engine = self.hub_engine
        engine.owned += 1
        try:
            with CancelScope(shield=True):
                outcome = await run_contained(self._call, self._scope)
            if outcome.failure is not None:
                self._note(outcome.failure)
        finally:
            self._is_running = False
            engine.owned -= 1
            self._employer.release(self)

    def _note(self, failure: BaseException) -> None:
        """Log the failure and apply the agent's supervision, unless the task was to end anyway."""
        engine, hub = self.hub_engine, self.hub_engine.hub
        engine.log.error("task failed", hub=hub, agent=self.agent, task=self.name, exc_info=failure)
        engine.emit(TaskCrashed(hub=hub, agent=self.agent, task=self.name, error=class_name(type(failure))))
        if is_fatal(failure):
            engine.end(failure)
        elif not self._scope.cancel_called:
            self._employer.note_failure(failure, None)
