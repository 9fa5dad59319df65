"""Traces as they are read: the spans of one trace, and the tree that they form. Frozen values and pure functions."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from pydantic import TypeAdapter

from stagepost._dataclasses import dataclass

from ._lines import timeline, turns
from ._page import page
from ._span import Span
from ._text import tree

_SPAN: Final = TypeAdapter(Span)


@dataclass(frozen=True)
class TraceLog:
    """A trace: its spans, in the order in which they began.

    Attributes:
        spans: They.
        left_out: How many of the oldest turns were left out, because there were too many.
    """

    spans: Sequence[Span]
    left_out: int = 0

    @property
    def root(self) -> Span:
        """The span that is below no other one of the trace."""
        return self.children(None)[0]

    @property
    def name(self) -> str:
        """That of the root."""
        return self.root.name

    @property
    def trace_id(self) -> str:
        """32 hexadecimal digits."""
        return self.root.trace_id

    @property
    def failed(self) -> bool:
        """Whether its root has ended with an error."""
        return self.root.status == "error"

    def children(self, span: Span | None) -> Sequence[Span]:
        """The spans directly below one; those below none that is known, for None."""
        return self._below.get(None if span is None else span.span_id, ())

    def find(self, name: str) -> Sequence[Span]:
        """All spans of a name."""
        return tuple(span for span in self.spans if span.name == name)

    def walk(self) -> Iterator[tuple[int, Span]]:
        """All spans with their depths, each before those below it."""
        waiting = [(0, span) for span in reversed(self.children(None))]
        while waiting:
            depth, span = waiting.pop()
            yield depth, span
            waiting.extend((depth + 1, below) for below in reversed(self.children(span)))

    def to_jsonl(self) -> str:
        """One span a line, as JSON with the fields of `Span`."""
        return "".join(f"{_SPAN.dump_json(span).decode()}\n" for span in self.spans)

    @classmethod
    def from_jsonl(cls, text: str) -> "TraceLog":
        """The trace that `to_jsonl` has written; lines of other processes may follow, the last one of a span counts.

        Raises:
            ValueError: A line is no span, or there is none.
        """
        spans: dict[str, Span] = {}
        for line in text.split("\n"):  # texts may hold other line ends
            if line.strip():
                span = _SPAN.validate_json(line)
                spans[span.span_id] = span
        if not spans:
            raise ValueError("there is no span in this text: give what to_jsonl has written")
        return cls(tuple(spans.values()))

    def to_text(self) -> str:
        """The tree for a terminal: a line for each span, with how long it took and how it ended."""
        return tree(self.walk())

    def to_turns(self) -> str:
        """The turns for a terminal: a line for each, with its time, tokens, calls, and how its program ended."""
        return turns(tuple(self.walk()))

    def to_timeline(self) -> str:
        """The timeline for a terminal: a line for each span, with a bar for when it worked."""
        return timeline(tuple(self.walk()))

    def to_html(self) -> str:
        """A timeline: one HTML page that needs nothing else, neither a network nor a server."""
        return page(self.name, list(self.walk()))

    @cached_property
    def _below(self) -> Mapping[str | None, Sequence[Span]]:
        known = {span.span_id for span in self.spans}
        below: dict[str | None, list[Span]] = {}
        for span in self.spans:
            below.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
        return below
