"""What of a large workflow is drawn: not more boxes than somebody can look at."""

from collections import deque
from collections.abc import Callable, Collection, Sequence

from ._marks import Mark
from ._outline import Kind, Part, Way

_BEFORE = 20  # boxes before the one that the window is about, at most
_QUIET = (Mark.AHEAD, Mark.DONE, Mark.RETRIED, Mark.CANCELLED)


def expanded(outline: Part, most: int, mark_of: Callable[[Part], Mark], opened: Collection[str] = ()) -> frozenset[str]:
    """Keys of the boxes that are drawn open.

    Args:
        outline: The outermost box.
        most: How many boxes are drawn at most: first those in which something runs, waits or has failed, then the
            others, of both those that are outside first.
        mark_of: How a box stands.
        opened: Keys of boxes that somebody wants open, whatever their number.
    """
    found: set[str] = {outline.key}
    count = 1 + min(len(outline.parts), most)
    urgent, others = deque[Part](), deque[Part]()
    _sort(outline, mark_of, urgent, others)
    while urgent or others:
        part = (urgent or others).popleft()
        if count + len(part.parts) <= most or part.key in opened:
            found.add(part.key)
            count += len(part.parts)
            _sort(part, mark_of, urgent, others)
    return frozenset(found)


def _sort(part: Part, mark_of: Callable[[Part], Mark], urgent: deque[Part], others: deque[Part]) -> None:
    for each in part.parts:
        if each.parts:
            (others if mark_of(each) in _QUIET else urgent).append(each)


def windowed(part: Part, most: int, mark_of: Callable[[Part], Mark]) -> Part:
    """A box with at most so many boxes in it: those around the first one that runs, waits or has failed.

    Args:
        part: The box.
        most: How many it may have.
        mark_of: How one of them stands.
    """
    parts = part.parts
    if len(parts) <= most:
        return part
    focus = next((place for place, each in enumerate(parts) if mark_of(each) not in _QUIET), 0)
    first = min(max(0, focus - min(_BEFORE, most // 3)), len(parts) - most)
    before, shown, after = parts[:first], parts[first : first + most], parts[first + most :]
    instead = {**_instead(part, before, "before"), **_instead(part, after, "after")}
    kept = [*_more(part, before, "before"), *shown, *_more(part, after, "after")]
    ways = dict.fromkeys(
        Way(instead.get(way.source, way.source), instead.get(way.target, way.target), way.label) for way in part.ways
    )
    return Part(part.key, part.path, part.name, part.kind, kept, [way for way in ways if not _is_hidden(way, instead)])


def _more(part: Part, hidden: Sequence[Part], where: str) -> Sequence[Part]:
    return [Part(f"{part.key}…{where}", "", f"{len(hidden):,} more", Kind.MORE)] if hidden else []


def _instead(part: Part, hidden: Sequence[Part], where: str) -> dict[str, str]:
    return dict.fromkeys((each.key for each in hidden), f"{part.key}…{where}")


def _is_hidden(way: Way, instead: dict[str, str]) -> bool:
    """Whether an arrow is among boxes of which one stands for all."""
    return way.source == way.target and way.source in instead.values()
