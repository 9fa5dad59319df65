"""Masks a text that comes in pieces, and holds back as little of it as possible.

What was given stays as it was given: put together, it is what `Mask` makes of the whole text, whatever the cuts. So the
end of what has come is held back as long as it may be part of

- an escape that is not complete, in the text or in what a round of reading has made of it,
- a secret, or a piece of one, in any form (see `Beginnings`),
- a place that is masked, and that may become longer.

What is given is forgotten, except for some characters: no escape and no place reaches from it into what is left, so the
rest is read as it would be in the whole text. Whether `Mask` reads a text at all depends on the whole of it: as long as
it would not, what only a reading finds is held back, too.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from ._beginnings import unfinished
from ._forms import Forms
from ._starred import starred
from ._unescaping import ROUNDS, Reading, fold

_MUCH: Final = 1000  # characters; more than that is looked at only once it has grown by a part of itself
_SHARE: Final = 8

Place = tuple[int, int]


class MaskStream:
    """Puts three stars where a text that comes in pieces shows a secret: see `Mask.stream`.

    Args:
        forms: The forms of the secrets; None if there are none.
    """

    __slots__ = ("_before", "_forms", "_held", "_is_read", "_next")

    def __init__(self, forms: Forms | None) -> None:
        self._forms = forms
        self._held = ""
        self._before = ""
        self._is_read = False
        self._next = 0

    def add(self, piece: str) -> str:
        """What can be shown now that a piece has come; it may be empty, and is never changed by what comes later.

        Args:
            piece: The piece.
        """
        forms = self._forms
        if forms is None:
            return piece
        self._held += piece
        if len(self._held) < self._next:
            return ""
        places, held = self._look(self._held, forms)
        shown = starred(self._held[:held], sorted(place for place in places if place[1] <= held))
        self._before = (self._before + self._held[:held])[-forms.context :]
        self._held = self._held[held:]
        size = len(self._held)
        self._next = size + size // _SHARE if size > _MUCH else 0
        return shown

    def end(self) -> str:
        """What is left, once nothing more comes."""
        rest, self._held, self._next = self._held, "", 0
        forms = self._forms
        if forms is None or not rest or not self._reads(rest, forms):
            return rest
        return starred(rest, sorted(forms.places(rest)))

    def _reads(self, text: str, forms: Forms) -> bool:
        """Whether the whole text so far is one that is read."""
        if not self._is_read:
            self._is_read = forms.may_be_in(self._before + text) or next(forms.pieces(fold(text)), None) is not None
        return self._is_read

    def _look(self, text: str, forms: Forms) -> tuple[Sequence[Place], int]:
        """The places of a text, and how much of it is decided."""
        beginnings = forms.beginnings
        places = list(forms.raw_places(text))
        held = min(beginnings.in_raw(text), beginnings.in_read(fold(text)))
        reading = Reading(text)
        origins: list[tuple[Sequence[int], Sequence[int]]] = []
        for _ in range(ROUNDS):
            before = len(reading.text)
            cut = unfinished(reading.text)
            held = min(held, reading.start(cut, held))
            reading.cut(cut)
            changes = reading.go_on()
            origins.append((reading.starts, reading.ends))
            places += forms.read_places(reading, text)
            held = min(held, reading.start(beginnings.in_read(fold(reading.text)), held))
            if cut == before and not changes:  # what was cut off may vanish, so that what is before it goes on
                break
        if not self._reads(text, forms):
            held = min((held, *(start for start, _ in places)))
        return places, _settled(text, held, places, origins, grows=beginnings.grows)


def _settled(
    text: str,
    held: int,
    places: Sequence[Place],
    origins: Sequence[tuple[Sequence[int], Sequence[int]]],
    *,
    grows: bool,
) -> int:
    """How much of a text is decided, so that neither a place nor an escape is cut.

    Args:
        text: The text.
        held: Where what is held back begins so far.
        places: The places that are masked.
        origins: Where the characters of each reading begin and end.
        grows: Whether a place at the end may become longer by any backslashes.
    """
    before = -1
    while held != before:
        before = held
        while text[held - 1 : held] == "\\":
            held -= 1
        for starts, ends in origins:
            at = bisect_left(starts, held) - 1
            if at >= 0 and ends[at] > held:
                held = starts[at]
        limit = held - 1 if grows and held == len(text) else held
        held = min((held, *(start for start, end in places if start < held and end > limit)))
    return held
