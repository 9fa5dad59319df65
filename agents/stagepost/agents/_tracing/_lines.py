"""A trace for the terminal: its turns, and its timeline. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ._observation import ObservationType
from ._span import Span
from ._text import duration

_TURN: Final = "iteration-"
_WIDE: Final = 40  # characters of the timeline
_NAME: Final = 36


def turns(walked: Sequence[tuple[int, Span]]) -> str:
    """A line for each turn: time, tokens, calls, and how its program ended.

    Args:
        walked: The spans with their depths, each before those below it.
    """
    lines = []
    for index, (depth, span) in enumerate(walked):
        if span.name.startswith(_TURN):
            lines.append(_turn(depth, span, list(_below(walked, index))))
    return "".join(f"{line}\n" for line in lines)


def timeline(walked: Sequence[tuple[int, Span]]) -> str:
    """A line for each span: its name, when it worked, and how long.

    Args:
        walked: The spans with their depths, each before those below it.
    """
    if not walked:
        return ""
    begin = min(span.started_at for _, span in walked)
    end = max(span.ended_at or span.started_at for _, span in walked)
    return "".join(f"{_bar(depth, span, begin, end - begin)}\n" for depth, span in walked)


def _below(walked: Sequence[tuple[int, Span]], index: int) -> Iterable[Span]:
    """What is below a span, without what runs of other agents have done."""
    above, skipped = walked[index][0], None
    for depth, span in walked[index + 1 :]:
        if depth <= above:
            return
        if skipped is not None and depth > skipped:
            continue
        skipped = depth if span.type is ObservationType.AGENT else None
        yield span


def _turn(depth: int, turn: Span, below: Sequence[Span]) -> str:
    tokens = sum(span.usage.get("total_tokens", 0) for span in below)
    calls = sum(span.type in (ObservationType.TOOL, ObservationType.AGENT) for span in below)
    told = [f"turn {int(turn.name.removeprefix(_TURN)) + 1}", duration(turn.seconds), f"{tokens:,} tokens"]
    told.append(f"{calls} call{'' if calls == 1 else 's'}")
    told += [_program(span) for span in below if span.name == "program"]
    return f"{'  ' * depth}{'  '.join(told)}"


def _program(span: Span) -> str:
    ended = next((event.attributes.get("end") for event in span.events if event.name == "ended"), None)
    return f"program: {' '.join(str(span.error or ended or span.status or 'not ended').split())[:100]}"


def _bar(depth: int, span: Span, begin: float, whole: float) -> str:
    def place(moment: float) -> int:
        return round((moment - begin) / whole * (_WIDE - 1)) if whole else 0

    first, last = place(span.started_at), place(span.ended_at or span.started_at)
    rests = {place for begun, ended in span.waits for place in range(place(begun) + 1, place(ended))}
    bar = "".join(_MARKS[first <= each <= last, each in rests] for each in range(_WIDE))
    name = f"{'  ' * depth}{span.name}"
    shown = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    return f"{shown.ljust(_NAME)} |{bar}| {duration(span.seconds)}"


_MARKS: Final[Mapping[tuple[bool, bool], str]] = {
    (True, False): "#",
    (True, True): ".",
    (False, False): " ",
    (False, True): " ",
}
