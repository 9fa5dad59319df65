"""What one listener has not heard yet: a bounded number of told values, and the rings between them."""

from collections import deque

from ._told import Heard, Told


class _Section:
    """What came before one ring.

    Attributes:
        told: What was told, in order; None for nothing.
        notes: What the commits were that it has rung for; None for nothing.
        missed: How many were dropped before these.
        rung: Whether the ring has come.
    """

    __slots__ = ("missed", "notes", "rung", "told")

    def __init__(self) -> None:
        self.told: deque[Told] | None = None
        self.notes: deque[Told] | None = None
        self.missed = 0
        self.rung = False


class Buffer:
    """Keeps what was told and rung, in order.

    Rings with nothing told in between are one ring, so that there are never more rings than told values, and one.

    Args:
        size: How many told values are kept; of more the oldest are dropped and counted.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._length = 0
        self._notes = 0
        self._sections: deque[_Section] = deque()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to hear."""
        return not self._sections

    def ring(self) -> None:
        """Something more may be stored."""
        if self._sections:
            self._sections[-1].rung = True
        else:
            self._open().rung = True

    def put(self, told: Told) -> None:
        """Something was told."""
        section = self._sections[-1] if self._sections and not self._sections[-1].rung else self._open()
        if section.told is None:
            section.told = deque()
        section.told.append(told)
        self._length += 1
        if self._length > self._size:
            self._drop()

    def note(self, told: Told) -> None:
        """A commit was made, and its ring follows. Of too many the oldest are dropped, which their numbers show."""
        section = self._sections[-1] if self._sections else self._open()
        if section.notes is None:
            section.notes = deque()
        section.notes.append(told)
        self._notes += 1
        if self._notes > self._size:
            next(section.notes for section in self._sections if section.notes).popleft()
            self._notes -= 1

    def take(self) -> Heard:
        """What came up to the first ring, or all, if there is none."""
        section = self._sections.popleft()
        told, notes = section.told or (), section.notes or ()
        self._length -= len(told)
        self._notes -= len(notes)
        return Heard((*told, *notes), section.missed, section.rung)

    def _open(self) -> _Section:
        self._sections.append(section := _Section())
        return section

    def _drop(self) -> None:
        """Let go of the oldest told value; a section that has none left is one with the section after it."""
        first = self._sections[0]
        if not first.told:  # a ring before the oldest
            first = self._sections[1]
        if first.told:
            first.told.popleft()
        first.missed += 1
        self._length -= 1
        while len(self._sections) > 1 and not self._sections[0].told and not self._sections[1].told:
            before = self._sections.popleft()
            self._sections[0].missed += before.missed
            self._sections[0].notes = deque([*(before.notes or ()), *(self._sections[0].notes or ())])
            self._sections[0].rung |= before.rung
