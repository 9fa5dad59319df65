"""The mailbox of an agent: queued messages, and senders whose messages have no room yet."""

from collections import OrderedDict, deque
from collections.abc import Iterator
from typing import Final, cast

from ._account import Account
from ._envelope import Envelope, EnvelopeState
from ._lanes import Lanes
from ._message import MessageType, Priority
from ._running import Record

# Looked up once: an enum member costs as much as the rest of the line.
_NORMAL: Final = Priority.NORMAL
_REQUEST: Final = MessageType.REQUEST
_SHORT: Final = 32
_NOBODY: Final[OrderedDict[Envelope, None]] = OrderedDict()  # most mailboxes never have a line; nobody adds to it


class Dormant:
    """The queue of a mailbox that rests, and is empty: a deque takes 700 bytes more."""

    __slots__ = ("_mailbox",)

    def __init__(self, mailbox: "Mailbox") -> None:
        self._mailbox = mailbox

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Record]:
        return iter(())

    def append(self, record: Record) -> None:
        """Queue the first message since."""
        self._mailbox.queue = deque((record,))


class Mailbox:
    """A bounded queue of envelopes, and of publications whose envelopes nobody has needed yet.

    Senders that find it full wait in line, and get room in that order.

    Code that takes an envelope from the queue has to `admit` from the line in the same step: then there is never room
    while somebody waits, and nobody overtakes the line.

    Attributes:
        queue: What was accepted; a plain deque until it has to serve priorities, or to remove one of many envelopes
            from the middle in constant time. While its agent has no workers it takes less memory.
        blocked: Envelopes without room, oldest first.
        limit: How many messages it holds; infinity for any number.
    """

    __slots__ = ("_account", "blocked", "limit", "queue")

    def __init__(self, limit: float, account: Account) -> None:
        self._account = account
        self.limit = limit
        self.queue: deque[Record] | Lanes = deque()
        self.blocked: OrderedDict[Envelope, None] = _NOBODY

    def accept(self, envelope: Envelope) -> bool:
        """Take a message if there is room."""
        queue = self.queue
        if len(queue) >= self.limit:
            return False
        if envelope.terms.priority is not _NORMAL:
            queue = self._lanes()
        queue.append(envelope)
        self._account.accept(envelope)
        return True

    def rest(self) -> None:
        """Take as little memory as possible until the next message."""
        if not self.queue:
            self.queue = cast("Lanes", Dormant(self))  # it is empty, so nothing is ever taken out of it
            self.blocked = _NOBODY  # nobody waits for room while there is some

    def line_up(self, envelope: Envelope) -> None:
        """Let a message wait for room, after all others that wait."""
        if self.blocked is _NOBODY:
            self.blocked = OrderedDict()
        self.blocked[envelope] = None

    def admit(self) -> int:
        """Move envelopes from the line into free places, and wake their senders.

        Returns:
            How many were moved.
        """
        admitted = 0
        while self.blocked and len(self.queue) < self.limit:
            envelope, _ = self.blocked.popitem(last=False)
            self.accept(envelope)
            if envelope.type is not _REQUEST:
                envelope.release()
            admitted += 1
        return admitted

    def evict(self, newcomer: Envelope) -> Record | None:
        """Remove the oldest of the least urgent messages, unless it is more urgent than the new one."""
        queue = self.queue
        if isinstance(queue, Lanes):
            return queue.evict(newcomer.terms.priority)
        return queue.popleft() if newcomer.terms.priority >= _NORMAL else None

    def remove(self, envelope: Envelope) -> None:
        """Remove an accepted message."""
        queue = self.queue if len(self.queue) <= _SHORT else self._lanes()
        queue.remove(envelope)

    def turn_away(self, envelope: Envelope) -> None:
        """End a message's wait for room. It was never accepted, so there is nothing to count."""
        del self.blocked[envelope]
        envelope.state = EnvelopeState.TURNED_AWAY

    def _lanes(self) -> Lanes:
        """The queue as lanes, created when a plain deque is no longer enough."""
        if not isinstance(self.queue, Lanes):
            self.queue = Lanes(self.queue)
        return self.queue
