"""Who reads a turn at the moment."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Readers:
    """Counts the readers of turns.

    Args:
        unread: Called with a turn that its last reader has left.
    """

    def __init__(self, unread: Callable[[str], None]) -> None:
        self._unread = unread
        self._count = Counter[str]()

    @contextmanager
    def reading(self, turn_id: str) -> Iterator[None]:
        """Read a turn, for as long as a block lasts."""
        self._count[turn_id] += 1
        try:
            yield
        finally:
            self._count[turn_id] -= 1
            if not self._count[turn_id]:
                del self._count[turn_id]
                self._unread(turn_id)

    def has(self, turn_id: str) -> bool:
        """Whether somebody reads a turn."""
        return turn_id in self._count
