"""What waits for an agent: messages, and senders for whose message there is no room yet."""

from collections import deque
from typing import Final

from ._lanes import Lanes
from ._ledger import Ledger
from ._message import MessageType, Priority
from ._parcel import STANDARD, Parcel, State

_NORMAL: Final = Priority.NORMAL  # looked up once: a member of an enum costs as much as the rest of the line


class Mailbox:
    """A bounded queue of parcels. Who finds it full waits in line, and gets room in the order of the line.

    Whoever takes something from the queue has to `admit` from the line in the same step: then there is never room while
    somebody waits, and nobody overtakes the line.

    Attributes:
        queue: Accepted parcels; a plain deque until the first one comes that is more or less urgent than others.
        blocked: Parcels without room, oldest first.
        limit: How many messages there is room for; infinity for any number.
    """

    __slots__ = ("_ledger", "blocked", "limit", "queue")

    def __init__(self, limit: float, ledger: Ledger) -> None:
        self._ledger = ledger
        self.limit = limit
        self.queue: deque[Parcel] | Lanes = deque()
        self.blocked: deque[Parcel] = deque()

    def accept(self, parcel: Parcel) -> bool:
        """Take a message if there is room."""
        queue = self.queue
        if len(queue) >= self.limit:
            return False
        if parcel.terms is not STANDARD and parcel.terms.priority is not _NORMAL:
            queue = self._lanes()
        queue.append(parcel)
        self._ledger.accept(parcel)
        return True

    def admit(self) -> int:
        """Move parcels from the line to the room there is, and let their senders go on.

        Returns:
            How many were moved.
        """
        admitted = 0
        while self.blocked and len(self.queue) < self.limit:
            parcel = self.blocked.popleft()
            self.accept(parcel)
            if parcel.type is not MessageType.REQUEST:
                parcel.release()
            admitted += 1
        return admitted

    def evict(self, newcomer: Parcel) -> Parcel | None:
        """Take out the oldest of the least urgent messages, unless even that one is more urgent than the newcomer."""
        least = min(self.queue, key=lambda parcel: (parcel.terms.priority, parcel.number))
        if least.terms.priority > newcomer.terms.priority:
            return None
        self.queue.remove(least)
        return least

    def withdraw(self, parcel: Parcel) -> None:
        """Take out a message that was not begun, wherever it is."""
        where = self.blocked if parcel.state is State.BLOCKED else self.queue
        where.remove(parcel)

    def _lanes(self) -> Lanes:
        """The queue with a lane for each priority, opened with the first message that is not of the normal one."""
        if isinstance(self.queue, deque):
            self.queue = Lanes(self.queue)
        return self.queue
