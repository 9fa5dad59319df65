"""What whoever keeps traces has to do."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from pydantic import JsonValue

from ._observation import ObservationStatus, ObservationType, TraceContext
from ._starting import Starting

Attributes: TypeAlias = Mapping[str, JsonValue]


class TracingProvider(Protocol):
    """Keeps traces, or sends them to whoever does. `BaseTracingProvider` does most of it.

    A runner, or a run in memory, makes all calls in one task, one after the other, in the order in which things have
    happened; each has a time limit, and an exception does no harm. So a provider may take its time, but must not block
    the event loop.

    All times are seconds since 1970, None for now. They are told, because calls come later than what they tell of.
    """

    def start_trace(
        self,
        name: str,
        session_id: str | None = None,
        user_id: str | None = None,
        metadata: Attributes | None = None,
        tags: Sequence[str] | None = None,
        *,
        context: TraceContext | None = None,
        parent_context: TraceContext | None = None,
        at: float | None = None,
    ) -> Starting:
        """Start a trace; its context is also that of its root.

        Args:
            name: ``task-<AgentName>-<task id>``.
            session_id: The conversation that it belongs to.
            user_id: Whose it is.
            metadata: What else is known.
            tags: Words to find it by.
            context: The ids that it has; by default it gets new ones. One that was started before goes on: another
                process may do so.
            parent_context: What it belongs below, in somebody else's trace.
            at: When it began.
        """
        ...

    def start_observation(
        self,
        name: str,
        observation_type: ObservationType,
        parent_context: TraceContext,
        metadata: Attributes | None = None,
        input_data: JsonValue = None,
        *,
        context: TraceContext | None = None,
        at: float | None = None,
    ) -> Starting:
        """Start an observation.

        Args:
            name: Such as ``iteration-0`` or ``tool-search``.
            observation_type: What it is.
            parent_context: What it belongs below.
            metadata: What is known of it, never content.
            input_data: Content: what a tool is called with. None unless content was asked for.
            context: The ids that it has; by default it gets new ones. One that was started before goes on.
            at: When it began.
        """
        ...

    async def start_generation(
        self,
        name: str,
        parent_context: TraceContext,
        model: str,
        input_messages: Sequence[JsonValue],
        metadata: Attributes | None = None,
        *,
        context: TraceContext | None = None,
        at: float | None = None,
    ) -> TraceContext:
        """Start a question to a model.

        Args:
            name: ``inference-<AgentName>``.
            parent_context: What it belongs below.
            model: Name of the model.
            input_messages: Content: what it is asked; empty unless content was asked for.
            metadata: What is known of it, never content.
            context: The ids that it has; by default it gets new ones.
            at: When it began.
        """
        ...

    async def end_generation(
        self,
        context: TraceContext,
        output: Mapping[str, JsonValue],
        usage: Mapping[str, int | float] | None = None,
        *,
        status: ObservationStatus = "ok",
        at: float | None = None,
    ) -> None:
        """End a question to a model. One that has ended, or was never started, is left as it is.

        Args:
            context: That of the generation.
            output: Content: the answer; empty unless content was asked for.
            usage: ``prompt_tokens``, ``completion_tokens``, ``total_tokens``; where known also ``cached_tokens`` and
                ``cost`` (in US dollars).
            status: How it ended.
            at: When.
        """
        ...

    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        """End a trace or an observation, also a generation. One that has ended, or was never started, is left as it is.

        Args:
            context: Its own.
            status: How it ended.
            output_data: Content: what came of it. None unless content was asked for.
            at: When.
        """
        ...

    async def add_event(
        self, context: TraceContext, name: str, attributes: Attributes | None = None, *, at: float | None = None
    ) -> None:
        """Add something that has happened within an observation.

        Args:
            context: That of the observation.
            name: What it is, such as ``recovered``.
            attributes: What is known of it, never content.
            at: When.
        """
        ...

    async def set_error(self, context: TraceContext, error: Exception) -> None:
        """Say that an observation has failed. That does not end it.

        Args:
            context: That of the observation.
            error: Why; its text shows no secret.
        """
        ...

    async def flush(self) -> None:
        """Send what was not sent yet. Harmless before the first start, and after `shutdown`."""
        ...

    async def shutdown(self) -> None:
        """Send what was not sent yet, and close what is open. What comes after that is ignored."""
        ...
