"""What waits for an agent: messages, and senders for whose message there is no room yet."""

from collections import OrderedDict, deque
from typing import Final

from ._account import Account
from ._envelope import Envelope, EnvelopeState
from ._lanes import Lanes
from ._message import MessageType, Priority

_NORMAL: Final = Priority.NORMAL  # looked up once: a member of an enum costs as much as the rest of the line
_SHORT: Final = 32


class Mailbox:
    """A bounded queue of envelopes. Who finds it full waits in line, and gets room in the order of the line.

    Whoever takes something from the queue has to `admit` from the line in the same step: then there is never room while
    somebody waits, and nobody overtakes the line.

    Attributes:
        queue: Accepted envelopes; a plain deque until it has to do more than a deque does at once: serve priorities, or
            give out one of many envelopes from anywhere.
        blocked: Envelopes without room, oldest first.
        limit: How many messages there is room for; infinity for any number.
    """

    __slots__ = ("_account", "blocked", "limit", "queue")

    def __init__(self, limit: float, account: Account) -> None:
        self._account = account
        self.limit = limit
        self.queue: deque[Envelope] | Lanes = deque()
        self.blocked: OrderedDict[Envelope, None] = OrderedDict()

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

    def line_up(self, envelope: Envelope) -> None:
        """Let a message wait for room, after all that wait already."""
        self.blocked[envelope] = None

    def admit(self) -> int:
        """Move envelopes from the line to the room there is, and let their senders go on.

        Returns:
            How many were moved.
        """
        admitted = 0
        while self.blocked and len(self.queue) < self.limit:
            envelope, _ = self.blocked.popitem(last=False)
            self.accept(envelope)
            if envelope.type is not MessageType.REQUEST:
                envelope.release()
            admitted += 1
        return admitted

    def evict(self, newcomer: Envelope) -> Envelope | None:
        """Take out the oldest of the least urgent messages, unless even that one is more urgent than the newcomer."""
        queue = self.queue
        if isinstance(queue, Lanes):
            return queue.evict(newcomer.terms.priority)
        return queue.popleft() if newcomer.terms.priority >= _NORMAL else None

    def remove(self, envelope: Envelope) -> None:
        """Take an accepted message out."""
        queue = self.queue if len(self.queue) <= _SHORT else self._lanes()
        queue.remove(envelope)

    def turn_away(self, envelope: Envelope) -> None:
        """End the wait of a message for room. It was never accepted, so there is nothing to count."""
        del self.blocked[envelope]
        envelope.state = EnvelopeState.TURNED_AWAY

    def _lanes(self) -> Lanes:
        """The queue as lanes, opened when a plain deque would not do."""
        if isinstance(self.queue, deque):
            self.queue = Lanes(self.queue)
        return self.queue
