"""The engine of a running hub, shared by all its agents."""

from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from threading import get_ident
from typing import Any, Protocol

from anyio.abc import TaskGroup

from ._account import Account
from ._callers import Callers, FindWorkload
from ._crossing import Crossings
from ._deadlines import Deadlines
from ._emitter import Emitter
from ._envelope import Envelope
from ._log import get_logger
from ._masks import Mask
from ._middleware import Onion
from ._observer import Event
from ._sending import SendingLayers
from ._stamps import Stamps
from ._time_slice import TimeSlice
from ._undisturbed import undisturbed
from ._wake import Backend
from ._warm import Warm
from .errors import DeliveryError, WrongThread


class Owner(Protocol):
    """The hub, as its parts see it."""

    @property
    def name(self) -> str:
        """The hub's name."""

    def new_context(self, envelope: Envelope, /) -> object:
        """Make the context for a handler."""

    def terminate(self, agent: str, failure: BaseException, refusal: Callable[[str], DeliveryError], /) -> None:
        """Remove a failed agent from the hub at once, and refuse those who wait for it."""


class Planned(Protocol):
    """A timer, as its agents see it; see `Timer`."""

    recipient: str
    owner: str | None
    payload: str
    every: float | None
    fired: int
    skipped: int

    @property
    def next_at(self) -> float | None:
        """When it sends the next message."""

    def end(self) -> None:
        """End it."""


class Engine:
    """Clock, account, deadlines and tasks of a hub, made when it is entered.

    Attributes:
        owner: The hub.
        log: The logger for failures, which masks the secrets that the hub knows.
        emit: Calls the observer.
        onion: The middleware around the handling of each message, if there is any.
        sending: The middleware around everything that is sent, if there is any.
        patience: How long senders wait if they do not say so.
        new_envelope: Makes the record of a message.
        shares: Whether recipients of a publication may share one record: not if each has to remember something.
        listeners: How many listeners there were, for their names.
        failures: The errors that ended the hub.
        callers: Who waits for an agent or the hub to stop.
        crossings: The calls that other threads have made through a portal.
        thread: The thread in which the hub may be called.
        is_here: Whether this is the hub's event loop.
        call_soon: Calls a function in the hub's event loop, from anywhere; a `RuntimeError` if that has ended.
        time_slice: Lets other tasks run now and then.
        timers: All timers that are active.
        owned: How many tasks run that agents own.
        warm: The agents that keep idle workers.
        undisturbed: Runs something in a task of the hub even if somebody cancels the task; see there.
    """

    __slots__ = (
        "_surroundings",
        "_tasks",
        "account",
        "call_soon",
        "callers",
        "crossings",
        "deadlines",
        "emit",
        "failures",
        "hub",
        "is_here",
        "listeners",
        "log",
        "new_context",
        "new_envelope",
        "new_waiter",
        "onion",
        "owned",
        "owner",
        "patience",
        "sending",
        "shares",
        "stamps",
        "terminate",
        "thread",
        "time_slice",
        "timers",
        "undisturbed",
        "warm",
    )

    def __init__(
        self,
        owner: Owner,
        emitter: Emitter,
        tasks: TaskGroup,
        backend: Backend,
        *,
        dead_letters: int,
        patience: float,
        mask: Mask,
        onion: Onion[Any] | None,
        sending: SendingLayers | None,
        new_envelope: type[Envelope],
        find_workload: FindWorkload,
        time_slice: TimeSlice,
        warm: Warm,
    ) -> None:
        self.owner = owner
        self.hub = owner.name
        self.log = get_logger("hub", mask=mask)  # here, where a slow import delays nobody
        self.new_context = owner.new_context
        self.terminate = owner.terminate
        self.new_waiter = backend.new_waiter
        self.is_here = backend.is_here
        self.call_soon = backend.call_soon
        self.undisturbed = partial(undisturbed, backend)
        self.thread = get_ident()
        self.failures: list[BaseException] = []
        self.new_envelope = new_envelope
        self.shares = new_envelope is Envelope
        self.patience = patience
        self.onion = onion
        self.sending = sending
        self.listeners = 0
        self.timers: dict[Planned, None] = {}
        self.owned = 0
        self.warm = warm
        self.time_slice = time_slice
        self.emit: Callable[[Event], None] = emitter.emit
        self.stamps = Stamps(backend.clock)
        self.account = Account(self.hub, emitter, self.stamps, backend.new_waiter, dead_letters)
        self.callers = Callers(find_workload, self.account.notify)
        self.deadlines = Deadlines(backend, self.spawn, time_slice)
        self.crossings = Crossings(self.hub, backend.call_soon, self.spawn_in, self.end)
        self._tasks = tasks
        self._surroundings = copy_context()

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a task of the hub, with the context variables that the hub was entered with, not those of a sender."""
        self.spawn_in(self._surroundings.copy(), function, name)

    def spawn_in(self, context: Context, function: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a task of the hub with these context variables."""
        context.run(lambda: self._tasks.start_soon(function, name=name))

    def end(self, failure: BaseException) -> None:
        """End the hub with an error, which is raised where its block is left."""
        self.failures.append(failure)
        self._tasks.cancel_scope.cancel()

    def check_here(self, call: str) -> None:
        """Refuse a call from another thread or event loop.

        Raises:
            WrongThread: It is such a call.
        """
        if get_ident() != self.thread or not self.is_here():
            raise WrongThread(self.hub, call)
