"""A temporary subscriber: code outside any agent that reads publications."""

from collections import OrderedDict, deque
from threading import get_ident
from typing import Any, Final, Literal, Self

from ._engine import Engine
from ._envelope import Envelope
from ._groups import Room, Standing
from ._handlers import NOBODY, Handlers
from ._message import Message
from ._publication import Publication
from ._running import Record
from ._tally import Tally
from ._wake import Waiter
from .errors import WrongThread

_HANDLERS: Final = Handlers({object: NOBODY})


class Listener:
    """A stream of the messages published to a topic, as an async iterator; see `Hub.listen`.

    A message counts as handled when it is buffered here, so that a slow reader delays nobody. The stream ends with the
    hub, after all buffered messages. Several tasks may iterate; each message goes to one of them.

    Attributes:
        id: Its name in events and reports.
        dropped: How many messages were dropped for newer ones.
        handlers: A listener takes any payload.
        detach: As for agents.
        overflow: What it does when it is full; senders never wait for it.
        closing: Whether it takes no more messages.
        patterns: Its subscriptions, each with its group; the hub writes them.
        tally: The counts of its messages.
    """

    __slots__ = (
        "_buffer",
        "_engine",
        "_limit",
        "_waiters",
        "closing",
        "dropped",
        "id",
        "overflow",
        "patterns",
        "tally",
    )

    handlers: Final = _HANDLERS
    detach: Final = False

    def __init__(self, name: str, limit: float, overflow: Literal["reject", "drop_oldest"], engine: Engine) -> None:
        self.id = name
        self.closing = False
        self.dropped = 0
        self.overflow = overflow
        self.patterns: dict[str, str | None] = {}
        self.tally = Tally()
        self._limit = limit
        self._engine = engine
        self._buffer: deque[Record] = deque()
        self._waiters: OrderedDict[Waiter, None] = OrderedDict()

    @property
    def topics(self) -> tuple[str, ...]:
        """The patterns that it subscribed to."""
        return tuple(self.patterns)

    @property
    def endpoint(self) -> "Listener":
        """Its endpoint."""
        return self

    def open_endpoint(self, engine: Engine, payload: object = None) -> "Listener":  # noqa: ARG002  # pragma: no cover - typing asks for it, `endpoint` answers first
        """Start to take messages."""
        return self

    def standing(self) -> Standing:
        """How well it can take one more message."""
        waiting = len(self._buffer)
        if self.closing:
            return Standing(Room.CLOSING, waiting)
        return Standing(Room.FREE if waiting < self._limit else Room.FULL, waiting)

    def accept(self, envelope: Envelope) -> bool:
        """Take a message if there is room."""
        if len(self._buffer) >= self._limit:
            return False
        self._engine.account.accept(envelope)
        self._engine.account.start(envelope)
        self._buffer.append(envelope)
        self._engine.account.handle(envelope, None)
        self._wake()
        return True

    def take(self, publication: Publication) -> bool:
        """Take a publication if there is room; as `accept`, but without an observer, and uncounted."""
        if len(self._buffer) >= self._limit:
            return False
        self._buffer.append(publication)
        self._engine.account.handled += 1
        self._wake()
        return True

    def displaces(self, envelope: Envelope) -> bool:
        """Take a message into a full buffer by dropping the oldest one, if that is the policy."""
        if self.overflow != "drop_oldest":
            return False
        self._buffer.popleft()
        self.dropped += 1
        return self.accept(envelope)

    def arm(self, envelope: Envelope) -> None:
        """Nothing expires in here."""

    def expire(self, envelope: Envelope) -> None:
        """Nothing expires in here."""

    def withdraw(self, envelope: Envelope) -> None:
        """Nobody waits for a listener."""

    def close(self) -> None:
        """End the stream after the buffered messages."""
        self.closing = True
        while self._waiters:
            self._wake()

    def __aiter__(self) -> Self:
        """Iterate over the messages."""
        return self

    async def __anext__(self) -> Message[Any]:
        """The next message; waits until there is one.

        Raises:
            WrongThread: The hub was entered in another thread.
        """
        engine = self._engine
        if get_ident() != engine.thread:
            raise WrongThread(engine.hub, "anext")
        if engine.time_slice.spend():
            await engine.time_slice.next()
        while not self._buffer:
            if self.closing:
                raise StopAsyncIteration
            await self._wait()
        record = self._buffer.popleft()
        envelope = record.envelope(self, NOBODY) if type(record) is Publication else record
        return envelope.message(engine.stamps)

    async def _wait(self) -> None:
        """Wait to be woken; a task that is cancelled removes itself, or wakes the next one if it was woken already."""
        waiter = self._engine.new_waiter()
        self._waiters[waiter] = None
        try:
            await waiter
        except BaseException:
            if self._waiters.pop(waiter, self) is self and self._buffer:
                self._wake()
            raise

    def _wake(self) -> None:
        """Wake the task that has waited longest, if any waits."""
        while self._waiters:
            waiter, _ = self._waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_result(None)
                return
