"""A temporary subscriber: code outside of any agent that wants to see what is published."""

from collections import deque
from typing import Any, Final, Literal, Self

from ._engine import Engine
from ._handlers import NOBODY, Handlers
from ._message import Message
from ._parcel import Parcel
from ._tally import Tally
from ._wake import Waiter

_HANDLERS: Final = Handlers({object: NOBODY})


class Listener:
    """A stream of the messages published to a topic, as an async iterator; see `Hub.listen`.

    A message is handled when it is in here, so that a slow reader holds up nobody. The stream ends with the hub, after
    what it has received. Several tasks may iterate; each message goes to one of them.

    Attributes:
        id: Its name in events and reports.
        topics: The patterns it subscribed to.
        dropped: How many messages it has dropped for newer ones.
        handlers: It takes any payload.
        detach: As agents have it.
        overflow: What it does when it is full; nobody ever waits for it.
        closing: Whether it takes no more.
        tally: The counts of its messages.
    """

    __slots__ = ("_buffer", "_engine", "_limit", "_waiters", "closing", "dropped", "id", "overflow", "tally", "topics")

    handlers: Final = _HANDLERS
    detach: Final = False

    def __init__(self, name: str, limit: float, overflow: Literal["reject", "drop_oldest"], engine: Engine) -> None:
        self.id = name
        self.closing = False
        self.dropped = 0
        self.overflow = overflow
        self.tally = Tally()
        self.topics: tuple[str, ...] = ()
        self._limit = limit
        self._engine = engine
        self._buffer: deque[Parcel] = deque()
        self._waiters: deque[Waiter] = deque()

    @property
    def desk(self) -> "Listener":
        """Where its messages go."""
        return self

    def open_desk(self, engine: Engine) -> "Listener":  # noqa: ARG002  # pragma: no cover - typing asks for it, `desk` answers first
        """Begin to take messages."""
        return self

    def accept(self, parcel: Parcel) -> bool:
        """Take a message if there is room."""
        if len(self._buffer) >= self._limit:
            return False
        self._engine.ledger.accept(parcel)
        self._engine.ledger.start(parcel)
        self._buffer.append(parcel)
        self._engine.ledger.handle(parcel, None)
        self._wake()
        return True

    def displaces(self, parcel: Parcel) -> bool:
        """Take a message into a full buffer by dropping the oldest one, if that is the policy."""
        if self.overflow != "drop_oldest":
            return False
        self._buffer.popleft()
        self.dropped += 1
        return self.accept(parcel)

    def arm(self, parcel: Parcel) -> None:
        """Nothing expires in here."""

    def expire(self, parcel: Parcel) -> None:
        """Nothing expires in here."""

    def withdraw(self, parcel: Parcel) -> None:
        """Nobody waits for a listener."""

    def close(self) -> None:
        """End the stream after what it has received."""
        self.closing = True
        while self._waiters:
            self._wake()

    def __aiter__(self) -> Self:
        """Iterate over the messages."""
        return self

    async def __anext__(self) -> Message[Any]:
        """The next message; waits until there is one."""
        while not self._buffer:
            if self.closing:
                raise StopAsyncIteration
            waiter = self._engine.new_waiter()
            self._waiters.append(waiter)
            try:
                await waiter
            except BaseException:
                if waiter.done() and self._buffer:
                    self._wake()  # it was called for a message that another task has to read now
                raise
        return self._buffer.popleft().message(self._engine.stamps)

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
