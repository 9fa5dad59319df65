"""What waits for an agent: messages, and senders for whose message there is no room yet."""

import math
from collections import deque

from ._delivery import Delivery
from ._ledger import Ledger
from ._message import MessageType


class Mailbox:
    """A bounded queue of deliveries. Who finds it full waits in line, and gets room in the order of the line.

    Whoever takes something from the queue has to `admit` from the line in the same step: then there is never room while
    somebody waits, and nobody overtakes the line.

    Attributes:
        queue: Accepted deliveries, oldest first.
        blocked: Deliveries without room, oldest first.
        limit: How many messages there is room for; infinity for any number.
    """

    __slots__ = ("_ledger", "blocked", "limit", "queue")

    def __init__(self, limit: float, ledger: Ledger) -> None:
        self._ledger = ledger
        self.limit = limit
        self.queue: deque[Delivery] = deque()
        self.blocked: deque[Delivery] = deque()

    def accept(self, delivery: Delivery) -> bool:
        """Take a message if there is room."""
        if len(self.queue) >= self.limit:
            return False
        self.queue.append(delivery)
        self._ledger.accept(delivery)
        return True

    def admit(self) -> int:
        """Move deliveries from the line to the room there is, and let their senders go on.

        Returns:
            How many were moved.
        """
        admitted = 0
        while self.blocked and len(self.queue) < self.limit:
            delivery = self.blocked.popleft()
            self.queue.append(delivery)
            self._ledger.accept(delivery)
            if delivery.type is not MessageType.REQUEST:
                delivery.deadline = math.inf  # only its sender's patience had an end
                delivery.release()
            admitted += 1
        return admitted
