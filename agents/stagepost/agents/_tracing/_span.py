"""One observation as it is read: a frozen value."""

from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, Final

from pydantic import JsonValue

from stagepost._dataclasses import dataclass

from ._observation import ObservationStatus, ObservationType


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that has happened within a span.

    Attributes:
        name: What it is, such as ``recovered``.
        at: When, in seconds since 1970.
        attributes: What is known of it.
    """

    name: str
    at: float
    attributes: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One observation of a trace.

    Attributes:
        trace_id: The trace, 32 hexadecimal digits.
        span_id: Its own id, 16 hexadecimal digits.
        parent_id: What it is below; None for the root, or what is below somebody else's span.
        name: Such as ``iteration-0``.
        type: What it is.
        started_at: When it began, in seconds since 1970.
        ended_at: When it ended; None if it has not.
        status: How it ended; None if it has not.
        error: Kind and text of its error.
        model: Name of the model that was asked.
        usage: What that has used: ``prompt_tokens``, ``completion_tokens``, ``total_tokens`` and so on.
        input: What went in, if content is traced.
        output: What came out, if content is traced.
        metadata: What else is known.
        events: What has happened within it.
        waits: When it rested, as pairs of begin and end: nothing worked on it then.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    type: ObservationType
    started_at: float
    ended_at: float | None = None
    status: ObservationStatus | None = None
    error: str | None = None
    model: str | None = None
    usage: Mapping[str, int | float] = field(default_factory=dict)
    input: JsonValue = None
    output: JsonValue = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    waits: tuple[tuple[float, float], ...] = ()

    @property
    def seconds(self) -> float:
        """How long it took, with all waiting; 0.0 if it has not ended."""
        return 0.0 if self.ended_at is None else max(self.ended_at - self.started_at, 0.0)


_NAMES: Final = tuple(each.name for each in fields(Span))


def replaced(span: Span, **changes: Any) -> Span:
    """A span with other values of some fields."""
    return Span(**{name: changes.get(name, getattr(span, name)) for name in _NAMES})
