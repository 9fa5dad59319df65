"""Where a text may be cut: between paragraphs, sentences, words, and at last between graphemes."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from stagepost._graphemes import grapheme_ends

from ._flow import Flow

Boundary: TypeAlias = Literal["paragraph", "line", "sentence", "word"]

_GAP: Final = re.compile(r"[^\S\xa0\u202f\u2007]+")  # spaces that do not forbid a break
_PARAGRAPH: Final = re.compile(r"\n[^\S\n]*\n")
_SENTENCE: Final = re.compile(r"[.!?…:。！？][\"'»”’)\]*_]*$")  # noqa: RUF001  # the ends of sentences in other scripts
_WIDE: Final = re.compile(r"[。！？]")  # noqa: RUF001  # after these no space is needed
_REACH: Final = 8  # characters before a gap in which a sentence's end is looked for


class Cut(NamedTuple):
    """A place between two parts.

    Attributes:
        end: Where the part before ends.
        next: Where the part after begins: white space between them is dropped.
    """

    end: int
    next: int


class Boundaries:
    """All places where a text may be cut.

    Args:
        flow: The text, and what stays whole of it.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._begins = [begin for begin, _ in flow.whole]
        self._graphemes = _grapheme_ends(flow.text)
        self._known = None if self._graphemes is None else frozenset(self._graphemes)
        found: dict[Boundary, list[Cut]] = {"paragraph": [], "line": [], "sentence": [], "word": []}
        for kinds, cut in self._found():
            for kind in kinds:
                found[kind].append(cut)
        self._cuts: Mapping[Boundary, Sequence[Cut]] = {kind: sorted(cuts) for kind, cuts in found.items()}

    def last(self, kind: Boundary, after: int, until: int) -> Cut | None:
        """The last cut of a kind that ends behind one place, and not behind another."""
        cuts = self._cuts[kind]
        place = bisect_right(cuts, until, key=lambda cut: cut.end) - 1
        return cuts[place] if place >= 0 and cuts[place].end > after else None

    def all(self, kind: Boundary) -> Sequence[Cut]:
        """The cuts of a kind, in order."""
        return self._cuts[kind]

    def hard(self, start: int, until: int) -> Cut:
        """The last place that cuts no grapheme and nothing that stays whole, or else as little as possible."""
        outside = self._outside(until)
        if outside > start:
            place = self._grapheme(outside)
            if place > start:
                return Cut(place, place)
        line = self._flow.text.rfind("\n", start + 1, until + 1)
        if line > start:
            return Cut(line, line + 1)
        gaps = [gap for gap in _GAP.finditer(self._flow.text, start + 1, until + 1) if self._is_free(gap.start())]
        if gaps:
            return Cut(gaps[-1].start(), gaps[-1].end())
        place = self._grapheme(until)
        return Cut(place, place) if place > start else Cut(until, until)

    def _found(self) -> Iterator[tuple[Sequence[Boundary], Cut]]:
        text = self._flow.text
        for gap in _GAP.finditer(text):
            end, following = gap.start(), self._outside_gap(gap.start(), gap.end())
            if following is None or end == 0 or following == len(text):
                continue
            if self._is_free(end) and self._is_free(following):
                yield _kinds(text, end, text[end:following]), Cut(end, following)
        for mark in _WIDE.finditer(text):
            place = mark.end()
            if (
                place < len(text)
                and not text[place].isspace()
                and self._outside(place) == place
                and self._is_free(place)
            ):
                yield ("sentence",), Cut(place, place)

    def _outside_gap(self, begin: int, end: int) -> int | None:
        """Where the part after white space begins; None if that space is inside of something whole."""
        if self._outside(begin) != begin:
            return None
        index = bisect_right(self._begins, begin) - 1
        if index >= 0 and self._flow.whole[index][0] == begin:
            return None  # a block of code that begins with its indentation
        inner = bisect_right(self._begins, begin)
        return min(end, self._begins[inner]) if inner < len(self._begins) else end

    def _outside(self, place: int) -> int:
        """The place itself, or the beginning of the whole passage that it is inside of."""
        index = bisect_right(self._begins, place) - 1
        if index < 0:
            return place
        begin, end = self._flow.whole[index]
        return begin if begin < place < end else place

    def _grapheme(self, place: int) -> int:
        if self._graphemes is None:
            return place
        return self._graphemes[bisect_right(self._graphemes, place) - 1]

    def _is_free(self, place: int) -> bool:
        return self._known is None or place in self._known


def _kinds(text: str, end: int, gap: str) -> Sequence[Boundary]:
    if _PARAGRAPH.search(gap):
        return ("paragraph", "line", "sentence", "word")
    if "\n" in gap:
        return ("line", "sentence", "word")
    if _SENTENCE.search(text, max(0, end - _REACH), end):
        return ("sentence", "word")
    return ("word",)


def _grapheme_ends(text: str) -> list[int] | None:
    """Where graphemes begin and end; None if each character is one."""
    if text.isascii():
        return None
    return [0, *grapheme_ends(text)]
