"""What all agents of a running hub share."""

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Protocol

from anyio.abc import TaskGroup

from ._deadlines import Deadlines
from ._emitter import Emitter
from ._ledger import Ledger
from ._log import get_logger
from ._middleware import Onion
from ._observer import Event
from ._parcel import Parcel
from ._stamps import Stamps
from ._turns import Turns
from ._wake import Backend


class Owner(Protocol):
    """What the parts of a hub need of the hub itself."""

    @property
    def name(self) -> str:
        """The hub's name."""

    def new_context(self, parcel: Parcel, /) -> object:
        """Make the context that a handler asks for."""

    def strike(self, agent: str, failure: BaseException, /) -> None:
        """Take an agent off the hub at once, because it failed."""


class Engine:
    """Clock, account, deadlines and tasks of a hub, made when it is entered.

    Attributes:
        owner: The hub.
        log: Where failures go that nobody waits for.
        emit: Tells the observer.
        onion: Wraps the handling of each message, if there is middleware.
        new_parcel: Makes the record of a message.
        listeners: How many listeners there were, for their names.
        turns: When others get their turn.
    """

    __slots__ = (
        "_surroundings",
        "_tasks",
        "deadlines",
        "emit",
        "hub",
        "ledger",
        "listeners",
        "log",
        "new_context",
        "new_parcel",
        "new_waiter",
        "onion",
        "owner",
        "stamps",
        "strike",
        "turns",
    )

    def __init__(
        self,
        owner: Owner,
        emitter: Emitter,
        tasks: TaskGroup,
        backend: Backend,
        *,
        dead_letters: int,
        onion: Onion[Any] | None,
        new_parcel: type[Parcel],
        turns: Turns,
    ) -> None:
        self.owner = owner
        self.hub = owner.name
        self.log = get_logger("hub")  # here, where a slow import holds up nobody
        self.new_context = owner.new_context
        self.strike = owner.strike
        self.new_waiter = backend.new_waiter
        self.new_parcel = new_parcel
        self.onion = onion
        self.listeners = 0
        self.turns = turns
        self.emit: Callable[[Event], None] = emitter.emit
        self.stamps = Stamps(backend.clock)
        self.ledger = Ledger(self.hub, emitter, self.stamps, backend.new_waiter, dead_letters)
        self.deadlines = Deadlines(backend, self.spawn, turns)
        self._tasks = tasks
        self._surroundings = copy_context()

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a task of the hub, with the context variables that the hub was entered with, not those of a sender."""
        self._surroundings.copy().run(lambda: self._tasks.start_soon(function, name=name))
