"""What most providers of traces have in common, so that one has to write four methods."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from secrets import token_hex

from pydantic import JsonValue

from ._observation import ObservationStatus, ObservationType, TraceContext
from ._provider import Attributes
from ._spans import Spans
from ._starting import Starting
from ._tracing import Tracing


class BaseTracingProvider(ABC):
    """A provider of traces, except for what each does in its own way.

    Write `begin_trace`, `begin_observation`, `end_observation` and `end_generation`. The contexts are made already; the
    context managers of the protocol begin and end with these methods.

    `end_observation` and `end_generation` leave alone what they do not know, or what has ended.
    """

    @abstractmethod
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
        """Begin a trace, or go on with it; see `TracingProvider.start_trace`."""

    @abstractmethod
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
        """Begin an observation, or go on with it; see `TracingProvider.start_observation`.

        A generation comes here, too, unless `start_generation` is overridden: its model stands in the metadata as
        ``model``, its messages are the input.
        """

    @abstractmethod
    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        """End a trace or an observation; see `TracingProvider.end_observation`."""

    @abstractmethod
    async def end_generation(
        self,
        context: TraceContext,
        output: Mapping[str, JsonValue],
        usage: Mapping[str, int | float] | None = None,
        *,
        status: ObservationStatus = "ok",
        at: float | None = None,
    ) -> None:
        """End a question to a model; see `TracingProvider.end_generation`."""

    def opened(self) -> AbstractAsyncContextManager[Spans | None]:
        """Trace the runs of a runner, or a run in memory, as ``Tracing(self)`` does."""
        return Tracing(self).opened()

    def create_context(self, trace_id: str | None = None) -> TraceContext:
        """A new context.

        Args:
            trace_id: Its trace; by default a new one.
        """
        return TraceContext(trace_id or token_hex(16), token_hex(8))

    def create_child_context(self, parent: TraceContext) -> TraceContext:
        """A new context in the same trace, with what the provider has added to the parent's."""
        return TraceContext(parent.trace_id, token_hex(8), parent.provider_data)

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
        """Start a trace; see `TracingProvider.start_trace`."""
        own = context or self.create_context(None if parent_context is None else parent_context.trace_id)

        async def begin() -> TraceContext:
            await self.begin_trace(
                own,
                name,
                parent_context=parent_context,
                session_id=session_id,
                user_id=user_id,
                metadata=metadata or {},
                tags=tags or (),
                at=at,
            )
            return own

        return Starting(self, begin)

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
        """Start an observation; see `TracingProvider.start_observation`."""
        own = context or self.create_child_context(parent_context)

        async def begin() -> TraceContext:
            await self.begin_observation(
                own, name, observation_type, parent_context, metadata=metadata or {}, input_data=input_data, at=at
            )
            return own

        return Starting(self, begin)

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
        """Start a question to a model; see `TracingProvider.start_generation`."""
        own = context or self.create_child_context(parent_context)
        told: dict[str, JsonValue] = {**(metadata or {}), "model": model}
        await self.begin_observation(
            own,
            name,
            ObservationType.GENERATION,
            parent_context,
            metadata=told,
            input_data=list(input_messages) or None,
            at=at,
        )
        return own

    def ambient(self) -> TraceContext | None:
        """What a run that is started here and now belongs below, if its starter says nothing; by default nothing."""
        return None

    def within(self, context: TraceContext) -> AbstractContextManager[object]:  # noqa: ARG002  # nothing to do for many
        """What a call of a tool, or a question to a model, runs in; by default nothing.

        For a library of traces that has a current span: what others trace meanwhile is to be below this observation. It
        is entered and left in the task that makes the call, at once, when the provider may not have been told of it.
        """
        return nullcontext()

    async def add_event(  # noqa: B027  # nothing to do for many
        self, context: TraceContext, name: str, attributes: Attributes | None = None, *, at: float | None = None
    ) -> None:
        """Add something that has happened; by default nothing is kept of it."""

    async def set_error(self, context: TraceContext, error: Exception) -> None:  # noqa: B027  # nothing to do for many
        """Say that an observation has failed; by default nothing is kept of it but the status that it ends with."""

    async def flush(self) -> None:  # noqa: B027  # nothing to do for many
        """Send what was not sent yet; by default there is nothing."""

    async def shutdown(self) -> None:  # noqa: B027  # nothing to do for many
        """Close what is open; by default there is nothing."""
