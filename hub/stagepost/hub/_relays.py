"""What the bridges of one hub share, and how a message ends that one of them could not carry."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from ._envelope import Envelope, Terms
from ._events import DeadReason
from ._stamps import Stamps
from .errors import DeliveryError

_REMEMBERED: Final = 10_000


class NotCarried(Exception):
    """A bridge could not carry a message.

    Args:
        outcome: Why a one-way message is dead, or what the requester gets, as if it had asked on the other hub.
    """

    def __init__(self, outcome: DeliveryError | DeadReason) -> None:
        self.outcome = outcome
        super().__init__(outcome)


class Relays:
    """The publications that bridges bring to a hub and take away from it, each with a mark that says which one it is.

    Bounded: a publication that comes again after 10,000 others is taken for a new one.

    Attributes:
        endings: What to do when the hub drains or stops, by bridge.
    """

    __slots__ = ("_brought", "_marks", "endings")

    def __init__(self) -> None:
        self._brought: OrderedDict[str, None] = OrderedDict()
        self._marks: OrderedDict[int, tuple[Terms, str]] = OrderedDict()
        self.endings: dict[object, Callable[[], None]] = {}

    def mark(self, envelope: Envelope, stamps: Stamps) -> str:
        """The mark of a publication: the id of one of its messages, the same for all bridges that hear it.

        The messages of a publication share one `Terms`, and no other publication has it.
        """
        terms = envelope.terms
        known = self._marks.get(id(terms))
        if known is None:
            known = self._marks[id(terms)] = terms, envelope.id(stamps)
            if len(self._marks) > _REMEMBERED:
                self._marks.popitem(last=False)
        return known[1]

    def is_new(self, mark: str) -> bool:
        """Whether no bridge has brought this publication yet; from now on, one has."""
        if mark in self._brought:
            return False
        self._brought[mark] = None
        if len(self._brought) > _REMEMBERED:
            self._brought.popitem(last=False)
        return True

    def forget(self, mark: str) -> None:
        """A publication could not be brought after all: it may come again, such as when its dead letter is resent."""
        self._brought.pop(mark, None)

    def end(self) -> None:
        """The hub drains or stops: its bridges end."""
        while self.endings:
            _, ending = self.endings.popitem()
            ending()
