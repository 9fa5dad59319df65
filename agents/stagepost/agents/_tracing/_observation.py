"""What a trace is made of: contexts, kinds of observations, how observations end."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, Self, TypeAlias

from pydantic import JsonValue

from stagepost._dataclasses import dataclass
from stagepost.hub import InvalidArgument

_TRACE_ID: Final = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN_ID: Final = re.compile(r"(?!0{16})[0-9a-f]{16}")
_TRACEPARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")

ObservationStatus: TypeAlias = Literal["ok", "error", "cancelled", "waiting", "interrupted", "suspended"]
"""How an observation ended.

``waiting``: a call that now waits for somebody; the same call is observed again, as a new span, once the answer has
come. ``interrupted``: its process was killed or had to end; the work is done again, in a new span below the same one.
``suspended``: only of what stands for a whole run or turn. This process lets go of it, and it is started again later,
with the same context, perhaps by another process. A provider that exports spans when they end exports nothing for it.
The others are ends for good.
"""


class ObservationType(StrEnum):
    """Kinds of observations.

    Attributes:
        SPAN: A run, a turn, a step of a workflow.
        GENERATION: A question to a model, and its answer.
        TOOL: A call of a tool.
        AGENT: The work of an agent that another agent has asked.
    """

    SPAN = "span"
    GENERATION = "generation"
    TOOL = "tool"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Where an observation stands: the trace that it belongs to, and its own id. It is JSON-serializable.

    Attributes:
        trace_id: 32 hexadecimal digits, as W3C wants them.
        span_id: 16 hexadecimal digits.
        provider_data: What a provider adds, JSON values; None for nothing.

    Raises:
        InvalidArgument: An id is none.
    """

    trace_id: str
    span_id: str
    provider_data: dict[str, JsonValue] | None = None

    def __post_init__(self) -> None:
        if not _TRACE_ID.fullmatch(self.trace_id):
            raise InvalidArgument("trace_id", self.trace_id, "give 32 hexadecimal digits, not all 0")
        if not _SPAN_ID.fullmatch(self.span_id):
            raise InvalidArgument("span_id", self.span_id, "give 16 hexadecimal digits, not all 0")

    @property
    def traceparent(self) -> str:
        """The header of W3C Trace Context, for whoever is asked over HTTP, MCP or the hub.

        It says that the trace is recorded, unless `provider_data` has ``sampled`` as False.
        """
        unsampled = self.provider_data is not None and self.provider_data.get("sampled") is False
        return f"00-{self.trace_id}-{self.span_id}-{'00' if unsampled else '01'}"

    @classmethod
    def from_traceparent(cls, text: str | None) -> Self | None:
        """The context that such a header names; None if it is none."""
        found = None if text is None else _TRACEPARENT.fullmatch(text)
        if found is None:
            return None
        try:
            return cls(found[1], found[2], None if int(found[3], 16) & 1 else {"sampled": False})
        except InvalidArgument:
            return None

    def to_dict(self) -> dict[str, JsonValue]:
        """It as JSON values."""
        told: dict[str, JsonValue] = {"trace_id": self.trace_id, "span_id": self.span_id}
        return told if self.provider_data is None else {**told, "provider_data": self.provider_data}

    @classmethod
    def from_dict(cls, given: Mapping[str, object]) -> Self:
        """The context that `to_dict` has told.

        Raises:
            InvalidArgument: It is none.
        """
        trace_id, span_id, data = given.get("trace_id"), given.get("span_id"), given.get("provider_data")
        if not isinstance(trace_id, str) or not isinstance(span_id, str) or not isinstance(data, dict | None):
            raise InvalidArgument("context", dict(given), "give trace_id and span_id as texts")
        return cls(trace_id, span_id, data)
