"""The provider that keeps nothing."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from pydantic import JsonValue

from ._base import BaseTracingProvider
from ._observation import ObservationStatus, ObservationType, TraceContext
from ._provider import Attributes


class NoOpTracingProvider(BaseTracingProvider):
    """Keeps nothing. A run that is given it is not traced at all, and so costs what an untraced run costs."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Trace nothing."""
        return nullcontext()

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
        """Do nothing."""

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
        """Do nothing."""

    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        """Do nothing."""

    async def end_generation(
        self,
        context: TraceContext,
        output: Mapping[str, JsonValue],
        usage: Mapping[str, int | float] | None = None,
        *,
        status: ObservationStatus = "ok",
        at: float | None = None,
    ) -> None:
        """Do nothing."""
