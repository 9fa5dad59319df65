"""Traces for Langfuse."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import anyio
from pydantic import JsonValue

from stagepost.hub import InvalidArgument
from stagepost.workflows import ExtraMissing

from . import _langfuse_attributes as names
from ._base import BaseTracingProvider
from ._conventions import Described, metadata_attributes
from ._observation import ObservationStatus, ObservationType, TraceContext
from ._provider import Attributes

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_CLOUD: Final = "https://cloud.langfuse.com"
_PATIENCE: Final = 30.0
_SUSPENDED: Final[Described] = {"stagepost.suspended": True}


class Langfuse(BaseTracingProvider):
    """Sends traces to Langfuse, with its own types of observations: generation, tool, agent, span.

    Tokens are its usage, an error is the level ``ERROR`` with the error's text as status message. All observations of
    a trace carry the session's and the user's id. What has ended is sent in batches by a thread, within seconds, and
    when the runner is left. The other settings are those of Langfuse's SDK, such as ``LANGFUSE_FLUSH_INTERVAL`` and
    ``LANGFUSE_TRACING_ENVIRONMENT``.

    Args:
        public_key: By default that of the environment, ``LANGFUSE_PUBLIC_KEY``.
        secret_key: By default ``LANGFUSE_SECRET_KEY``.
        host: By default ``LANGFUSE_BASE_URL``, or ``LANGFUSE_HOST`` as it was called before, or Langfuse's cloud.

    Raises:
        ExtraMissing: The extra ``langfuse`` is not installed.
        InvalidArgument: A key is missing.
    """

    def __init__(
        self, *, public_key: str | None = None, secret_key: str | None = None, host: str | None = None
    ) -> None:
        self._provider = _provider(*langfuse_settings(public_key, secret_key, host))
        from ._otel_spans import Spans  # noqa: PLC0415  # an extra

        self._spans = Spans(self._provider, None)
        self._is_shut = False

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
        """Begin the root observation."""
        if self._is_shut:
            return
        kind = ObservationType.AGENT if isinstance(metadata.get("agent"), str) else ObservationType.SPAN
        spec = names.observation(name, kind, metadata, None)
        if parent_context is not None:
            spec.attributes[names.AS_ROOT] = True
        below = names.handed_down(name, session_id=session_id, user_id=user_id, metadata=metadata, tags=tags)
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
        """Begin an observation."""
        if not self._is_shut:
            spec = names.observation(name, observation_type, metadata, input_data)
            self._spans.begin(context, spec, parent=parent_context, at=at)

    async def end_observation(
        self,
        context: TraceContext,
        status: ObservationStatus = "ok",
        *,
        output_data: JsonValue = None,
        at: float | None = None,
    ) -> None:
        """End an observation, unless the run goes on with it."""
        self._end(context, status, names.ended(status, output_data), at)

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
        self._end(context, status, names.ended(status, dict(output)) | names.used(usage), at)

    async def add_event(
        self, context: TraceContext, name: str, attributes: Attributes | None = None, *, at: float | None = None
    ) -> None:
        """Add an event to an observation."""
        self._spans.note(context, name, metadata_attributes(attributes or {}), at)

    async def set_error(self, context: TraceContext, error: Exception) -> None:
        """Give an observation the level of an error, and the error's text as status message."""
        self._spans.fail(context, error, {names.LEVEL: "ERROR", names.MESSAGE: str(error)})

    async def flush(self) -> None:
        """Send what has ended."""
        if not self._is_shut:
            await self._spans.flush(_PATIENCE)

    async def shutdown(self) -> None:
        """Send what has ended, and end the thread that sends."""
        if not self._is_shut:
            self._is_shut = True
            await anyio.to_thread.run_sync(self._provider.shutdown, abandon_on_cancel=True)

    def _end(self, context: TraceContext, status: ObservationStatus, told: Described, at: float | None) -> None:
        if status == "suspended":
            told = _SUSPENDED
        self._spans.end(context, told, failed="_OTHER" if status == "error" else None, at=at)


def langfuse_settings(public_key: str | None, secret_key: str | None, host: str | None) -> tuple[str, str, str]:
    """The keys of a project and its host, as they are given or in the environment.

    Raises:
        InvalidArgument: A key is missing.
    """
    public = _given("public_key", public_key, "LANGFUSE_PUBLIC_KEY")
    secret = _given("secret_key", secret_key, "LANGFUSE_SECRET_KEY")
    return public, secret, host or _environment("LANGFUSE_BASE_URL", "LANGFUSE_HOST") or _CLOUD


def _given(what: str, value: str | None, variable: str) -> str:
    found = value or _environment(variable)
    if not found:
        raise InvalidArgument(what, value, f"give it, or set {variable}")
    return found


def _environment(*variables: str) -> str | None:
    return next(filter(None, map(os.environ.get, variables)), None)


def _provider(public_key: str, secret_key: str, host: str) -> "TracerProvider":
    try:
        from ._langfuse_sdk import langfuse_provider  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("langfuse", "opentelemetry"):
            raise
        raise ExtraMissing("Langfuse", "langfuse", "langfuse") from None
    return langfuse_provider(public_key, secret_key, host)
