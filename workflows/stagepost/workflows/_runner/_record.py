"""One run in this process, and what its handles wait for."""

from collections.abc import Collection, Sequence
from typing import Any
from weakref import ref

from stagepost.checkpoint import RunStatus

from .._bell import Bell
from .._engine._intermediates import Intermediate
from .._execution._execution import Execution
from .._runs._migration import Definition
from ._lines import Line, Queued
from ._rooms import Rooms
from ._stay import TRANSITIONS, Stay


class Record(Queued):
    """One run in this process; what its handles wait for. It lives as long as a handle, the queue or a task holds it.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
        status: Where it stands, as its handles show it.
        waits: Ids of the waits that it is parked at.
        children: Ids of the runs that it waits for while it is parked.
        definition: What it is executed by, once that is known.
        reopened: Whether it had ended, and somebody has resumed it.
        urgent: Whether it takes no slot.
        cancelled: Whether its cancellation was requested while it was claimed or executed.
        awaited: Whether other runs may wait for its end: not so only of runs that this process has begun, and that
            have not parked without a record since.
        told: How much news of it the store has told of; `is_hearing` while a task reads that.
        freed: Whether the store has said that it goes on, while a task was still claiming or executing it.
        must_go_on: Whether it is taken up though it rests.
        refused: Why it was not executed when its turn had come.
        execution: It, while it is executed.
        intermediates: Where the states after its steps go, if somebody wants them.
        handle: Its handle, if somebody holds one.
        rooms: Who listens to runs.
    """

    __slots__ = (
        "__weakref__",
        "_changed",
        "_error",
        "_state",
        "awaited",
        "cancelled",
        "children",
        "definition",
        "execution",
        "freed",
        "handle",
        "intermediates",
        "is_hearing",
        "must_go_on",
        "refused",
        "reopened",
        "rooms",
        "run_id",
        "status",
        "told",
        "urgent",
        "waits",
        "workflow",
    )

    def __init__(self, run_id: str, workflow: str, stay: Stay, rooms: Rooms) -> None:
        super().__init__(stay)
        self.run_id = run_id
        self.workflow = workflow
        self.rooms = rooms
        self.status = RunStatus.RUNNING
        self.waits: Sequence[str] = ()
        self.children: Collection[str] = ()
        self.definition: Definition | None = None
        self.reopened = self.urgent = self.cancelled = False
        self.is_hearing = self.freed = self.must_go_on = False
        self.awaited = True
        self.told = 0
        self.refused: Exception | None = None
        self.execution: Execution | None = None
        self.intermediates: list[Intermediate] | None = None
        self.handle: ref[Any] | None = None
        self._state: Any = None
        self._error: BaseException | None = None
        self._changed = Bell()

    @property
    def is_over(self) -> bool:
        """Whether it has ended or is lost."""
        return not TRANSITIONS[self.stay]

    @property
    def left_with(self) -> BaseException | None:
        """Why this process does no more for it, if that is so."""
        return self._error if self.stay is Stay.LOST else None

    async def changed(self) -> None:
        """Wait until its state changes."""
        await self._changed.wait()

    async def settled(self) -> RunStatus:
        """Where it stands once it has ended or is parked; or the error, if this process has left it open."""
        while self.stay is not Stay.PARKED and not self.is_over:
            await self._changed.wait()
        if self.left_with is not None:
            raise self.left_with.with_traceback(None)
        return self.status

    async def halted(self) -> RunStatus:
        """As `settled`; or that it waits, as soon as it stands in line for a limit."""
        while self.stay is not Stay.PARKED and not self.is_over and self.line is None:
            await self._changed.wait()
        return await self.settled() if self.line is None or self.is_over else RunStatus.WAITING

    async def result(self) -> Any:
        """The final state, or the error."""
        while not self.is_over:
            await self._changed.wait()
        if self._error is not None:
            raise self._error.with_traceback(None)
        return self._state

    def say(self, status: RunStatus, state: Any, error: BaseException | None) -> None:
        """What it has come to, before it is ended or lost."""
        self.status, self.waits, self._state, self._error = status, (), state, error

    def stand(self, line: Line["Record"]) -> None:
        """Wait in a line."""
        line.add(self)
        self._changed.ring()

    def enter(self, stay: Stay) -> None:
        """Be in another state, as `Presence.move` allows."""
        self.stay = stay
        self._changed.ring()
