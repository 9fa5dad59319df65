"""Where local names are kept: each call of a function has a frame, and each name a slot of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Frame: TypeAlias = list[Any]
Node: TypeAlias = Callable[[Frame], Any]
Binder: TypeAlias = Callable[[Frame, Any], None]


class Scope:
    """The local names of one function; values are immutable, so inner functions copy those that they use."""

    def __init__(self, parent: "Scope | None" = None) -> None:
        self._parent = parent
        self._blocks: list[dict[str, int]] = [{}]
        self.captured: dict[str, tuple[int, int]] = {}
        self.size = 0
        self.deepest = 0

    @contextmanager
    def block(self) -> Iterator[None]:
        """Names declared inside are forgotten after it."""
        self._blocks.append({})
        yield
        self._blocks.pop()

    def declare(self, name: str) -> int:
        """A new slot for a name, which hides outer ones."""
        slot = self.hidden()
        self._blocks[-1][name] = slot
        return slot

    def hidden(self) -> int:
        """A new slot without a name."""
        self.size += 1
        return self.size - 1

    def find(self, name: str) -> int | None:
        """The slot of a name; of a name of the surroundings, the slot into which it is copied."""
        for block in reversed(self._blocks):
            if name in block:
                return block[name]
        if name in self.captured:
            return self.captured[name][0]
        outer = self._parent.find(name) if self._parent is not None else None
        if outer is None:
            return None
        slot = self.hidden()
        self.captured[name] = (slot, outer)
        return slot
