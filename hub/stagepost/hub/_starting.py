"""Starting and stopping a hub without a block: a task of its own enters and leaves it."""

from types import TracebackType
from typing import Protocol, Self, cast

from anyio import CancelScope, Event

from ._callers import caller_on
from ._directory import Directory, Phase
from ._engine import Engine
from ._guards import cancellation
from ._stopping import drain
from ._time_slice import TimeSlice
from ._wake import Task, start_task
from .errors import HubReentered, HubStopped, WrongStart


class Block(Protocol):
    """A hub, as the task that owns it sees it."""

    @property
    def name(self) -> str:
        """The hub's name."""

    async def __aenter__(self) -> object:
        """Start."""

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        """Stop."""


class Owner:
    """The task that enters a hub, and leaves it.

    Args:
        hub: The hub.

    Raises:
        WrongStart: The event loop has no tasks outside blocks.
    """

    __slots__ = ("_ended", "_entered", "_failure", "_hub", "_leaving", "_task")

    def __init__(self, hub: Block) -> None:
        self._hub = hub
        self._entered = Event()
        self._leaving = Event()
        self._ended = Event()
        self._failure: BaseException | None = None
        task = start_task(self._run, f"stagepost owner of {hub.name}", self._note_end)
        if task is None:
            problem = "cannot be started on trio, where each task belongs to a block"
            raise WrongStart(hub.name, problem, "use `async with hub:`")
        self._task: Task = task

    async def _run(self) -> None:
        try:
            async with self._hub:
                self._entered.set()
                await self._leaving.wait()
        except cancellation():
            return  # somebody ends the task: the loop that closes, or who no longer waits for it
        except KeyboardInterrupt:
            raise  # through the loop, to the program
        except BaseException as error:  # noqa: BLE001 - whoever stops the hub is told
            self._failure = error

    def _note_end(self) -> None:
        self._entered.set()
        self._ended.set()

    async def enter(self) -> None:
        """Wait until the hub was entered."""
        try:
            await self._entered.wait()
        except BaseException:
            self._task.cancel()
            raise
        self._raise_failure()
        if self._ended.is_set():  # somebody has cancelled its task before it ran
            raise HubStopped("*", self._hub.name)

    def leave(self) -> None:
        """Begin to leave the hub."""
        self._leaving.set()

    async def end(self) -> None:
        """Leave the hub and wait until it has ended; at once if the waiting task is cancelled."""
        self.leave()
        try:
            await self._ended.wait()
        except cancellation():
            self._task.cancel()
            with CancelScope(shield=True):
                await self._ended.wait()
            raise
        self._raise_failure()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


class Starting:
    """The part of a hub that starts and stops it."""

    _name: str
    _directory: Directory
    _engine: Engine | None
    _grace: float
    _owner: Owner | None
    _time_slice: TimeSlice

    async def start(self) -> Self:
        """Start the hub without a block; whoever starts it has to `stop` it, perhaps in another task.

        Only on asyncio: a task of the hub's own holds what ``async with hub:`` would hold. It suits fixtures, the cells
        of a notebook, and frameworks with a hook for the start and one for the end. When the event loop ends before
        `stop` was called, the hub ends at once, as if its block had been left by an exception.

        Returns:
            The hub.

        Raises:
            WrongStart: The event loop is trio's, which has no tasks outside blocks.
            HubReentered: It was started or entered before.
            HubStopped: Somebody ended it meanwhile.
        """
        async with self._time_slice:
            if self._owner is not None or self._directory.phase is not Phase.NEW:
                raise HubReentered(self._name)
            self._owner = Owner(cast("Block", self))  # each hub is one, but this part of it does not show it
            await self._owner.enter()
            return self

    async def stop(self) -> None:
        """Stop a hub that was started: like leaving its block, within its grace period; at once if cancelled.

        Called by a handler or a hook of the hub, it drains the hub and does not wait for its caller; the hub ends once
        the caller has. A hub that was never started, or was stopped before, is left as it is.

        Raises:
            BaseException: What ended the hub, such as the failure of an agent that escalates; raised once.
            WrongStart: It was entered by ``async with``.
            WrongThread: The hub was started in another thread or event loop.
        """
        async with self._time_slice:
            if self._engine is None:
                return
            self._engine.check_here("stop")
            if self._owner is None:
                raise WrongStart(self._name, "was entered by `async with`", "leave the block, or call drain()")
            if caller_on(self._engine) is None:
                await self._owner.end()
            else:
                self._owner.leave()
                await drain(self._directory, self._engine, self._grace)
