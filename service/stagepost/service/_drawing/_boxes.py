"""The boxes of a picture: what a workflow is made of, with how a run stands there."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple, TypeAlias

from stagepost._dataclasses import dataclass

from ._items import of_all_items, of_item
from ._kept import expanded, windowed
from ._marks import WORDS, Mark, Standing, strongest
from ._outline import Kind, Part, Way, parts_in
from ._standings import Standings

Address: TypeAlias = Callable[[str], str | None]
MOST: Final = 500
_PASSED: Final = (Mark.DONE, Mark.RETRIED)
_SAID: Final = 300  # letters of a name or an error


class Cell(NamedTuple):
    """One item of a fan-out or a fold.

    Attributes:
        number: Which one, from 0.
        mark: How it stands.
        href: Where its page is, or what opens it.
        is_open: Whether it is the one that is shown.
    """

    number: int
    mark: Mark
    href: str | None
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A box to be drawn.

    Attributes:
        key: Unique in the picture.
        name: What it is called.
        kind: What it stands for.
        mark: How it stands.
        note: What else is said of it, in a line.
        error: Why it has failed.
        href: Where its page is.
        toggle: What opens or closes it.
        toggle_text: What that does, in a few words.
        cells: Items, if they are drawn one by one.
        tally: How many items stand how.
        inner: Boxes in it.
        ways: Arrows between these; without arrows they stand side by side.
        busy: Which of these are taken.
        words: What its mark means, if that is not what it means for a place.
    """

    key: str
    name: str
    kind: Kind
    mark: Mark
    note: str = ""
    error: str | None = None
    href: str | None = None
    toggle: str | None = None
    toggle_text: str = ""
    cells: Sequence[Cell] = ()
    tally: Mapping[Mark, int] = field(default_factory=dict)
    inner: "Sequence[Box]" = ()
    ways: Sequence[Way] = ()
    busy: frozenset[Way] = frozenset()
    words: str = ""

    @property
    def said(self) -> str:
        """It in words."""
        words = [
            f"{self.kind} {self.name[:_SAID]}: {self.words or WORDS[self.mark]}",
            self.note,
            (self.error or "")[:_SAID],
        ]
        return ", ".join(filter(None, words)) if self.kind is not Kind.END else "the end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A run to be drawn.

    Attributes:
        outline: Its workflow.
        standings: How its places stand.
        address: Address of the page of a place, by its path. Paths of what is drawn once for all items have no number
            (``orders[]/check``), those of items one (``orders[3]``). None: there is no such page.
        toggle: Address of the same picture with something opened, or closed if it is open: an item (``orders[3]``), the
            runs that a step has started (its path), or a box that is closed since there are too many (its path with a
            slash after it). None if that cannot be.
        opened: What is open.
        children: Runs that steps have started, by path of the step; those of steps that are open are drawn.
        name: What comes before all keys, for runs in runs.
    """

    outline: Part
    standings: Standings = field(default_factory=Standings)
    address: Address = lambda _: None
    toggle: Address = lambda _: None
    opened: frozenset[str] = frozenset()
    children: "Mapping[str, Sequence[Drawn]]" = field(default_factory=dict)
    name: str = ""


def boxes_of(drawn: Drawn, *, most: int = MOST) -> Box:
    """The outermost box of a run.

    Args:
        drawn: The run.
        most: How many boxes are drawn, not counting those of runs in it. Of more, the innermost stay closed.
    """
    return _Building(drawn, most).box(drawn.outline)


class _Building:
    def __init__(self, drawn: Drawn, most: int) -> None:
        self._drawn = drawn
        self._most = most
        self._several = of_all_items(drawn.outline, drawn.standings)
        self._expanded = expanded(drawn.outline, most, lambda part: self._stands(part).mark, drawn.opened)

    def box(self, part: Part) -> Box:
        """A box with all that is in it."""
        if part.kind in (Kind.END, Kind.MORE):
            return Box(key=self._key(part), name=part.name, kind=part.kind, mark=Mark.AHEAD)
        if part.kind is Kind.EACH:
            return self._each(part)
        if part.parts and part.key in self._expanded:
            kept = windowed(part, self._most, lambda each: self._stands(each).mark)
            inner = [self.box(each) for each in kept.parts]
            is_opened = part.key in self._drawn.opened
            text, toggle = ("close", part.key) if is_opened else ("", None)
            return self._made(part, self._around(part, inner), inner, kept.ways, toggle=toggle, toggle_text=text)
        if part.parts:
            count = sum(1 for _ in parts_in(part)) - 1
            return self._made(part, self._stands(part), note=f"{count} places", toggle=part.key, toggle_text="open")
        return self._leaf(part)

    def _leaf(self, part: Part) -> Box:
        stands = self._stands(part)
        runs = self._drawn.children.get(part.path, ())
        if part.path in self._drawn.opened and runs:
            inner = [boxes_of(each, most=max(2, self._most // len(runs))) for each in runs]
            return self._made(part, stands, inner, toggle=part.path, toggle_text="close")
        if stands.children or runs:
            count = max(stands.children, len(runs))
            return self._made(part, stands, toggle=part.path, toggle_text="1 run" if count == 1 else f"{count} runs")
        if part.kind is Kind.FOLD:
            return self._made(part, stands, items=self._drawn.standings.items.get(part.path, {}))
        return self._made(part, stands)

    def _each(self, part: Part) -> Box:
        """A worker on many items: drawn once for all of them, or as it is for the one that is open."""
        items = self._items(part.path)
        inner, text, toggle = part.parts, "", None
        shown = next((number for number in items if f"{part.path}[{number}]" in self._drawn.opened), None)
        if shown is not None:
            toggle, text = f"{part.path}[{shown}]", f"close item {shown}"
            inner = [self._item_shown(each, part.path, shown) for each in inner]
        boxes = [self.box(each) for each in inner] if part.key in self._expanded else []
        return self._made(part, self._stands(part), boxes, items=items, toggle=toggle, toggle_text=text, shown=shown)

    def _item_shown(self, part: Part, path: str, number: int) -> Part:
        shown = of_item(part, path, number)
        pairs = zip(parts_in(part), parts_in(shown), strict=True)
        self._expanded |= {one.key for drawn, one in pairs if drawn.key in self._expanded}
        return shown

    def _items(self, path: str) -> Mapping[int, Mark]:
        """The items of a fan-out; of one that is in items of another one all together, without numbers of use."""
        if path in self._drawn.standings.items or "[]" not in path:
            return self._drawn.standings.items.get(path, {})
        like = re.compile(re.escape(path).replace(r"\[\]", r"\[\d+\]"))
        found = [marks for each, marks in self._drawn.standings.items.items() if like.fullmatch(each)]
        return dict(enumerate(mark for marks in found for mark in marks.values()))

    def _made(
        self,
        part: Part,
        stands: Standing,
        inner: Sequence[Box] = (),
        ways: Sequence[Way] = (),
        *,
        note: str = "",
        items: Mapping[int, Mark] | None = None,
        toggle: str | None = None,
        toggle_text: str = "",
        shown: int | None = None,
    ) -> Box:
        cells = [self._cell(part, number, mark, is_open=number == shown) for number, mark in (items or {}).items()]
        return Box(
            key=self._key(part),
            name=part.name,
            kind=part.kind,
            mark=stands.mark,
            note=note or self._note(part, stands),
            error=stands.error,
            href=self._drawn.address(part.path) if part.path else None,
            toggle=None if toggle is None else self._drawn.toggle(toggle),
            toggle_text=toggle_text,
            cells=cells,
            tally=Counter((items or {}).values()),
            inner=inner,
            ways=[self._named(way) for way in ways],
            busy=self._taken(part, ways),
        )

    def _named(self, way: Way) -> Way:
        return Way(self._drawn.name + way.source, self._drawn.name + way.target, way.label)

    def _taken(self, part: Part, ways: Sequence[Way]) -> frozenset[Way]:
        """The ways that the run has gone: as was decided, or else as the boxes at their ends tell."""
        marks = {each.key: self._stands(each).mark for each in part.parts} if ways else {}
        is_over = bool(ways) and self._stands(part).mark in _PASSED
        return frozenset(self._named(way) for way in ways if self._is_taken(way, marks, is_over=is_over))

    def _is_taken(self, way: Way, marks: Mapping[str, Mark], *, is_over: bool) -> bool:
        led = self._drawn.standings.led.get(way.source.rstrip("/"))
        is_end = way.target.endswith("->END")
        if led is not None:
            return "" in led if is_end else any(_is_in(path, way.target) for path in led)
        source, target = marks.get(way.source, Mark.AHEAD), marks.get(way.target, Mark.AHEAD)
        if is_end:
            return source in _PASSED and is_over
        return Mark.AHEAD not in (source, target)

    def _cell(self, part: Part, number: int, mark: Mark, *, is_open: bool) -> Cell:
        if "[]" in part.path:
            return Cell(number, mark, None, is_open)
        path = f"{part.path}[{number}]"
        href = self._drawn.toggle(path) if part.parts else self._drawn.address(path)
        return Cell(number, mark, href, is_open)

    def _note(self, part: Part, stands: Standing) -> str:
        several = self._several.get(part.path, ())
        if len(several) > 1:
            counts = Counter(each.mark for each in several)
            return " · ".join(f"{count} {WORDS[mark]}" for mark, count in sorted(counts.items(), key=_by_order))
        tries = f"{stands.tries} tries" if stands.tries > 1 else ""
        visits = f"{stands.visits} visits" if stands.visits > 1 else ""
        return " · ".join(filter(None, [tries, visits]))

    def _stands(self, part: Part) -> Standing:
        """How a box stands: a place by itself, what encloses places by these."""
        if part.path in self._several and "[]" in part.path:
            several = self._several[part.path]
            return Standing(strongest(each.mark for each in several))
        own = self._drawn.standings.at(part.path)
        if part.kind in (Kind.CHAIN, Kind.GRAPH, Kind.CONDITIONAL):
            marks = [self._stands(each).mark for each in part.parts]
            return own._replace(mark=strongest([*marks, own.mark] if own.mark is Mark.FAILED else marks))
        return own

    def _around(self, part: Part, inner: Sequence[Box]) -> Standing:
        """How a box stands that is drawn open: by what is in it, if it is no place itself."""
        stands = self._stands(part)
        return stands._replace(mark=strongest([stands.mark, *(each.mark for each in inner)]))

    def _key(self, part: Part) -> str:
        return self._drawn.name + part.key


def _is_in(path: str, key: str) -> bool:
    """Whether a place is, or is in, the box of a key."""
    inside = key if key.endswith("/") else f"{key}/"
    return path == key.rstrip("/") or path.startswith(inside)


def _by_order(counted: tuple[Mark, int]) -> int:
    return [*Mark].index(counted[0])
