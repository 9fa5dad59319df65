"""What waits for an agent: messages, and senders for whose message there is no room yet."""

import math
from collections import deque

from ._ledger import Ledger
from ._message import MessageType
from ._parcel import Parcel


class Mailbox:
    """A bounded queue of parcels. Who finds it full waits in line, and gets room in the order of the line.

    Whoever takes something from the queue has to `admit` from the line in the same step: then there is never room while
    somebody waits, and nobody overtakes the line.

    Attributes:
        queue: Accepted parcels, oldest first.
        blocked: Parcels without room, oldest first.
        limit: How many messages there is room for; infinity for any number.
    """

    __slots__ = ("_ledger", "blocked", "limit", "queue")

    def __init__(self, limit: float, ledger: Ledger) -> None:
        self._ledger = ledger
        self.limit = limit
        self.queue: deque[Parcel] = deque()
        self.blocked: deque[Parcel] = deque()

    def accept(self, parcel: Parcel) -> bool:
        """Take a message if there is room."""
        if len(self.queue) >= self.limit:
            return False
        self.queue.append(parcel)
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
            self.queue.append(parcel)
            self._ledger.accept(parcel)
            if parcel.type is not MessageType.REQUEST:
                parcel.deadline = math.inf  # only its sender's patience had an end
                parcel.release()
            admitted += 1
        return admitted
