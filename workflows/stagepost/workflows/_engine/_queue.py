"""The items of a fan-out that workers take: ready, under way, or resting until what they wait for has come."""

from collections import deque
from collections.abc import Iterable, Sequence

from .._bell import Bell
from .._execution._items import ItemRecord


class ItemQueue:
    """Hands out items; those that rest come back when a wait below them has ended.

    Args:
        path: The fan-out's path from the run's root.
        items: What is to be done.
    """

    def __init__(self, path: str, items: Iterable[ItemRecord]) -> None:
        self._prefix = f"{path}["
        self._ready = deque(items)
        self._resting: dict[int, ItemRecord] = {}
        self._under_way = 0
        self._changed = Bell()

    @property
    def has_work(self) -> bool:
        """Whether an item is ready."""
        return bool(self._ready)

    @property
    def is_resting(self) -> bool:
        """Whether items rest."""
        return bool(self._resting)

    def take_nowait(self) -> ItemRecord | None:
        """The next item that is ready, to be put down when it has been worked on; None if there is none."""
        if not self._ready:
            return None
        self._under_way += 1
        return self._ready.popleft()

    async def take(self) -> ItemRecord | None:
        """The same; None when none is left that could become ready."""
        while not self._ready and self._under_way:
            await self._changed.wait()
        return self.take_nowait()

    def put_down(self) -> None:
        """An item that was taken is no longer worked on."""
        self._under_way -= 1
        if not self._under_way and not self._ready:
            self._changed.ring()

    def rest(self, item: ItemRecord, *, again: bool) -> None:
        """Put an item aside that waits; with `again` it is tried once more, since something has come meanwhile."""
        if again:
            self._ready.append(item)
        else:
            self._resting[item.idx] = item

    def hear(self, places: Sequence[str]) -> None:
        """Waits at these places have ended."""
        for place in places:
            item = self._resting.pop(self._index(place), None)
            if item is not None:
                self._ready.append(item)
        self._changed.ring()

    def _index(self, place: str) -> int:
        """Which item a place is in; -1 if it is elsewhere."""
        if not place.startswith(self._prefix):
            return -1
        return int(place[len(self._prefix) :].partition("]")[0])
