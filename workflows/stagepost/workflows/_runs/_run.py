"""A run as its starter sees it."""

from collections.abc import Callable, Sequence
from typing import Any

from stagepost.checkpoint import RunStatus

from .._bell import Bell
from .._engine._intermediates import Intermediate


class Outcome:
    """How a run ends: set once by whoever works on it, waited for by its handles. What is said later does not count.

    Args:
        note: Told of the end, unless the run has completed: where it stands, and why.

    Attributes:
        status: Where the run stands.
        waits: Ids of the waits that it is parked at.
        intermediates: Where the states behind its steps go, if somebody wants them.
    """

    def __init__(self, note: Callable[[RunStatus, BaseException], None] | None = None) -> None:
        self._note = note
        self.intermediates: list[Intermediate] | None = None
        self.status = RunStatus.RUNNING
        self.waits: Sequence[str] = ()
        self._is_known = False
        self._changed = Bell()
        self._state: Any = None
        self._error: BaseException | None = None

    def complete(self, state: Any) -> None:
        """The run has ended well."""
        self._end(RunStatus.COMPLETED, state=state)

    def complete_unread(self, error: BaseException) -> None:
        """The run has ended well, but its final state cannot be made."""
        self._end(RunStatus.COMPLETED, error=error)

    def fail(self, error: BaseException) -> None:
        """The run's failure is committed."""
        self._end(RunStatus.FAILED, error=error)

    def cancel(self, error: BaseException) -> None:
        """The run's cancellation is committed."""
        self._end(RunStatus.CANCELLED, error=error)

    def bury(self, error: BaseException) -> None:
        """It is committed that the run is not taken up any more."""
        self._end(RunStatus.DEAD, error=error)

    def leave(self, error: BaseException) -> None:
        """This process does no more for the run, which stays open."""
        self._end(RunStatus.RUNNING, error=error)

    def park(self, waits: Sequence[str]) -> None:
        """The run rests until one of these waits ends."""
        if not self.is_known:
            self.status, self.waits = RunStatus.WAITING, waits
            self._changed.ring()

    def go_on(self) -> None:
        """The run rests no longer."""
        if not self.is_known:
            self.status, self.waits = RunStatus.RUNNING, ()

    @property
    def is_known(self) -> bool:
        """Whether the end has been set."""
        return self._is_known

    @property
    def left_with(self) -> BaseException | None:
        """Why this process does no more for the run, if that is so while it is open."""
        return self._error if self.status is RunStatus.RUNNING else None

    async def settled(self) -> RunStatus:
        """Where the run stands once it has ended or is parked; or the error, if this process has left it open."""
        while self.status is RunStatus.RUNNING and not self._is_known:
            await self._changed.wait()
        if self.left_with is not None:
            raise self.left_with.with_traceback(None)
        return self.status

    async def wait(self) -> Any:
        """The final state, or the error."""
        while not self._is_known:
            await self._changed.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)
        return self._state

    def _end(self, status: RunStatus, *, state: Any = None, error: BaseException | None = None) -> None:
        if not self._is_known:
            self.status, self.waits, self._state, self._error = status, (), state, error
            self._is_known = True
            if error is not None and self._note is not None:
                self._note(status, error)
            self._changed.ring()


class Run:
    """Handle of a background run.

    Attributes:
        id: Its id.
        workflow: Name of its workflow.
    """

    def __init__(self, run_id: str, workflow: str, outcome: Outcome) -> None:
        self.id = run_id
        self.workflow = workflow
        self._outcome = outcome

    def __repr__(self) -> str:
        return f"<Run {self.id} of {self.workflow}: {self.status}>"

    @property
    def status(self) -> RunStatus:
        """Where it stands, as far as this process knows."""
        return self._outcome.status

    @property
    def waits(self) -> Sequence[str]:
        """Ids of the waits that it is parked at; empty if it is not."""
        return tuple(self._outcome.waits)

    async def settled(self) -> RunStatus:
        """Wait until it has ended, or waits for somebody and nothing of it goes on.

        Returns:
            Where it stands then.

        Raises:
            RunnerStopped: The runner was left before.
            CheckpointError: A commit failed, or the store takes nothing more; the run stays open in the store.
        """
        return await self._outcome.settled()

    async def result(self) -> Any:
        """Wait for the end; any number of tasks may, and giving up waiting does not touch the run.

        Returns:
            The final state.

        Raises:
            RunFailed: It has failed; the cause is the error itself, where it happened in this process.
            RunCancelled: Somebody has cancelled it.
            RunDead: Its process died with it too often.
            RunnerStopped: The runner was left before it ended.
            RunNotHeld: It is open, but this runner does not work on it.
            CheckpointError: A commit failed, or the store takes nothing more; the run stays open in the store.
        """
        return await self._outcome.wait()
