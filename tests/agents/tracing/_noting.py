"""A provider that notes what it is told, and what can be read of that."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from stagepost.agents import BaseTracingProvider, ObservationStatus, ObservationType, TraceContext


class Told(NamedTuple):
    what: str
    span: str
    name: str = ""
    parent: str | None = None
    status: str = ""
    more: Any = None
    trace: str = ""
    at: float | None = None


class Noting(BaseTracingProvider):
    """Notes all calls in order.

    Args:
        file: Also writes them to a file, and the names of what begins to standard output.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.told: list[Told] = []
        self.flushed = 0
        self._file = file

    def note(self, told: Told) -> None:
        self.told.append(told)
        if self._file is not None:
            with self._file.open("a") as file:
                file.write(json.dumps(told) + "\n")
            if told.what == "begin":
                os.write(1, f"{told.name}\n".encode())

    async def begin_trace(
        self,
        context: TraceContext,
        name: str,
        *,
        parent_context: TraceContext | None,
        session_id: str | None,
        user_id: str | None,
        metadata: Mapping[str, JsonValue],
        tags: Sequence[str],
        at: float | None,
    ) -> None:
        parent = None if parent_context is None else parent_context.span_id
        more = [session_id, user_id, dict(metadata), list(tags)]
        self.note(Told("begin", context.span_id, name, parent, more=more, trace=context.trace_id, at=at))

    async def begin_observation(
        self,
        context: TraceContext,
        name: str,
        observation_type: ObservationType,
        parent_context: TraceContext,
        *,
        metadata: Mapping[str, JsonValue],
        input_data: JsonValue,
        at: float | None,
    ) -> None:
        more = [observation_type.value, dict(metadata), input_data]
        self.note(
            Told("begin", context.span_id, name, parent_context.span_id, more=more, trace=context.trace_id, at=at)
        )

    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        self.note(Told("end", context.span_id, status=status, more=output_data, at=at))

    async def end_generation(
        self,
        context: TraceContext,
        output: Mapping[str, JsonValue],
        usage: Mapping[str, int | float] | None = None,
        *,
        status: ObservationStatus = "ok",
        at: float | None = None,
    ) -> None:
        self.note(Told("end", context.span_id, status=status, more=[dict(output), dict(usage or {})], at=at))

    async def add_event(
        self,
        context: TraceContext,
        name: str,
        attributes: Mapping[str, JsonValue] | None = None,
        *,
        at: float | None = None,
    ) -> None:
        self.note(Told("event", context.span_id, name, more=dict(attributes or {}), at=at))

    async def set_error(self, context: TraceContext, error: Exception) -> None:
        self.note(Told("error", context.span_id, more=str(error)))

    async def flush(self) -> None:
        self.flushed += 1


def read(file: Path) -> list[Told]:
    """What processes have noted, one after the other; a line that was cut by a kill is nobody's."""
    return [Told(*json.loads(line)) for line in file.read_text().splitlines() if line.endswith("]")]


def tree(told: Iterable[Told]) -> list[str]:
    """The tree of what was told: a line for each span, indented, with how it ended; each start has exactly one end."""
    told = list(told)
    names: dict[str, str] = {}
    parents: dict[str, str | None] = {}
    ends: dict[str, str] = {}
    for each in told:
        if each.what == "begin":
            names.setdefault(each.span, each.name)
            parents.setdefault(each.span, each.parent)
            assert names[each.span] == each.name
        if each.what == "end":
            assert each.span in names, "an end without a start"
            assert ends.get(each.span, "suspended") == "suspended", f"{names[each.span]} has ended twice"
            ends[each.span] = each.status
    lines: list[str] = []

    def walk(parent: str | None, depth: int) -> None:
        for span, above in parents.items():
            if above == parent or (parent is None and above not in names):
                lines.append(f"{'  ' * depth}{names[span]} {ends.get(span, 'never ended')}")
                walk(span, depth + 1)

    walk(None, 0)
    assert len(lines) == len(names), "something is in no tree"
    assert len({each.trace for each in told if each.what == "begin"}) == 1
    return lines
