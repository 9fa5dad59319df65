"""Traces for OpenTelemetry."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from stagepost.workflows import ExtraMissing

from ._base import BaseTracingProvider
from ._conventions import (
    CONVERSATION,
    SCHEMA,
    Described,
    generation_ended,
    metadata_attributes,
    observation_ended,
    observation_span,
    status_ended,
    trace_span,
)
from ._observation import ObservationStatus, ObservationType, TraceContext
from ._provider import Attributes

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from ._otel_spans import Spans

_PATIENCE: Final = 30.0


class OpenTelemetry(BaseTracingProvider):
    """Makes spans of OpenTelemetry, named by its conventions for generative AI.

    A task is a span ``invoke_agent <agent>`` with the turns below it, in these ``chat <model>`` and ``execute_tool
    <tool>``; a run of another workflow is ``invoke_workflow <workflow>``. They have the ids and times that the run
    gives, so a recovered run goes on with its trace. What is exported, how it is sampled and where it goes is the
    business of the tracer provider; it is flushed when a runner is left, and never shut down.

    With only the API of OpenTelemetry installed, or no tracer provider, nothing is recorded.

    Args:
        tracer_provider: Makes the spans; by default the global one, looked up when it is needed.

    Raises:
        ExtraMissing: The extra ``otel`` is not installed.
    """

    def __init__(self, tracer_provider: "TracerProvider | None" = None) -> None:
        self._spans = _spans(tracer_provider)
        self._is_shut = False

    def ambient(self) -> TraceContext | None:
        """The span that is current in OpenTelemetry: what a run that is started now belongs below."""
        return self._spans.ambient()

    def within(self, context: TraceContext) -> AbstractContextManager[object]:
        """Make a span the current one of OpenTelemetry, so that what tools and libraries trace is below it."""
        return self._spans.within(context)

    async def begin_trace(
        self,
        context: TraceContext,
        name: str,
        *,
        parent_context: TraceContext | None,
        session_id: str | None,
        user_id: str | None,
        metadata: Attributes,
        tags: Sequence[str],
        at: float | None,
    ) -> None:
        """Begin the root span."""
        if self._is_shut:
            return
        spec = trace_span(name, session_id=session_id, user_id=user_id, metadata=metadata, tags=tags)
        below: Described = {} if session_id is None else {CONVERSATION: session_id}
        self._spans.begin(context, spec, parent=parent_context, at=at, handed_down=below)

    async def begin_observation(
        self,
        context: TraceContext,
        name: str,
        observation_type: ObservationType,
        parent_context: TraceContext,
        *,
        metadata: Attributes,
        input_data: JsonValue,
        at: float | None,
    ) -> None:
        """Begin a span."""
        if not self._is_shut:
            spec = observation_span(name, observation_type, metadata, input_data)
            self._spans.begin(context, spec, parent=parent_context, at=at)

    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        """End a span, unless the run goes on with it."""
        found = self._spans.get(context)
        if found is not None:
            self._end(context, status, observation_ended(found.operation, output_data), at)

    async def end_generation(
        self,
        context: TraceContext,
        output: Mapping[str, JsonValue],
        usage: Mapping[str, int | float] | None = None,
        *,
        status: ObservationStatus = "ok",
        at: float | None = None,
    ) -> None:
        """End a question to a model."""
        self._end(context, status, generation_ended(output, usage), at)

    async def add_event(
        self, context: TraceContext, name: str, attributes: Attributes | None = None, *, at: float | None = None
    ) -> None:
        """Add an event to a span."""
        self._spans.note(context, name, metadata_attributes(attributes or {}), at)

    async def set_error(self, context: TraceContext, error: Exception) -> None:
        """Give a span the status of an error, its class and its text."""
        self._spans.fail(context, error, {})

    async def flush(self) -> None:
        """Have the tracer provider send what has ended."""
        await self._spans.flush(_PATIENCE)

    async def shutdown(self) -> None:
        """Flush, and ignore what comes after that. The tracer provider is somebody else's, and stays open."""
        self._is_shut = True
        await self.flush()

    def _end(self, context: TraceContext, status: ObservationStatus, told: Described, at: float | None) -> None:
        if status == "suspended":
            self._spans.forget(context)
            return
        failed = {"error": "_OTHER", "interrupted": "interrupted"}.get(status)
        self._spans.end(context, {**told, **status_ended(status)}, failed=failed, at=at)


def _spans(tracer_provider: "TracerProvider | None") -> "Spans":
    try:
        from ._otel_spans import Spans  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("opentelemetry"):
            raise
        raise ExtraMissing("OpenTelemetry", "opentelemetry-api", "otel") from None
    return Spans(tracer_provider, SCHEMA)
