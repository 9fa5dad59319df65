"""A trace as a tree for the terminal. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from ._span import Span

_MARKS: Final[Mapping[str | None, str]] = {
    "ok": "+",
    "error": "!",
    "cancelled": "x",
    "waiting": "~",
    "interrupted": "/",
    "suspended": "~",
    None: "?",
}
_MINUTE: Final = 60.0
_SECOND: Final = 1.0


def tree(spans: Iterable[tuple[int, Span]]) -> str:
    """The lines of a tree.

    Args:
        spans: The spans with their depths, each before those below it.
    """
    return "".join(f"{_line(depth, span)}\n" for depth, span in spans)


def _line(depth: int, span: Span) -> str:
    told = [span.name, duration(span.seconds)]
    if span.usage.get("total_tokens"):
        told.append(f"{span.usage['total_tokens']:,} tokens")
    if span.status not in ("ok", None):
        told.append(str(span.status))
    if span.status is None:
        told.append("not ended")
    if span.error is not None:
        told.append(" ".join(span.error.split())[:100])
    return f"{'  ' * depth}{_MARKS[span.status]} {'  '.join(told)}"


def duration(seconds: float) -> str:
    """How long something took, to be read."""
    if seconds < _SECOND:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
