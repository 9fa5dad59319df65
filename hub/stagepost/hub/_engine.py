"""What all agents of a running hub share."""

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any

from anyio.abc import TaskGroup

from ._deadlines import Deadlines
from ._emitter import Emitter
from ._ledger import Ledger
from ._log import get_logger
from ._parcel import Parcel
from ._stamps import Stamps
from ._wake import current_backend


class Engine:
    """Clock, account, deadlines and tasks of a hub, made when it is entered.

    Attributes:
        hub: The hub's name.
        log: Where failures go that nobody waits for.
        new_context: Makes the context that a handler asks for.
    """

    __slots__ = ("_surroundings", "_tasks", "deadlines", "hub", "ledger", "log", "new_context", "new_waiter", "stamps")

    def __init__(self, hub: str, emitter: Emitter, tasks: TaskGroup, new_context: Callable[[Parcel], object]) -> None:
        backend = current_backend()
        self.hub = hub
        self.log = get_logger("hub")  # here, where a slow import holds up nobody
        self.new_context = new_context
        self.new_waiter = backend.new_waiter
        self.stamps = Stamps(backend.clock)
        self.ledger = Ledger(hub, emitter, self.stamps, backend.new_waiter)
        self.deadlines = Deadlines(backend, self.spawn)
        self._tasks = tasks
        self._surroundings = copy_context()

    def spawn(self, function: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Start a task of the hub, with the context variables that the hub was entered with, not those of a sender."""
        self._surroundings.copy().run(lambda: self._tasks.start_soon(function, name=name))
