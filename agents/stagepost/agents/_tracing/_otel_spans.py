"""Spans of OpenTelemetry with ids and times that are given: the one module that makes them."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

import anyio
from opentelemetry import trace
from opentelemetry.context import Context, attach, get_current
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    TracerProvider,
    TraceState,
)
from pydantic import JsonValue

from ._conventions import ERROR_TYPE, Described, NewSpan
from ._observation import TraceContext
from ._telling import ObservedError

try:
    from ._otel_ids import GivenIds
except ModuleNotFoundError:  # only the API is installed: no span is ever recorded
    GivenIds = None  # type: ignore[assignment,misc]  # what is asked below

_SCOPE: Final = "stagepost.agents"
_MOST_OPEN: Final = 100_000  # far more than are open at once, unless a caller forgets to end what it has begun
_KINDS: Final = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_UNSAMPLED: Final = TraceFlags(TraceFlags.DEFAULT)


class Open(NamedTuple):
    """A span that has begun.

    Attributes:
        span: The span.
        handed_down: Attributes that the spans below have, too.
        operation: What it stands for, by the conventions.
    """

    span: Span
    handed_down: Described
    operation: object


class Spans:
    """Begins and ends spans.

    Args:
        provider: Where tracers come from; None for the global one, which may be set later.
        schema: Of which version the names are.
    """

    def __init__(self, provider: TracerProvider | None, schema: str | None) -> None:
        self._provider = provider
        self._schema = schema
        self._made: tuple[TracerProvider, Tracer, GivenIds | None] | None = None
        self._open: OrderedDict[tuple[str, str], Open] = OrderedDict()
        self._flags: OrderedDict[str, TraceFlags] = OrderedDict()  # of traces: whether they are sampled

    @property
    def provider(self) -> TracerProvider:
        """Where tracers come from."""
        return self._provider or trace.get_tracer_provider()

    def begin(
        self,
        context: TraceContext,
        spec: NewSpan,
        *,
        parent: TraceContext | None,
        at: float | None,
        handed_down: Described | None = None,
    ) -> None:
        """Begin a span with the ids of a context."""
        above = None if parent is None else self._open.get(_key(parent))
        inherited = handed_down if above is None else above.handed_down | (handed_down or {})
        attributes = spec.attributes if not inherited else inherited | spec.attributes
        tracer, ids = self._tracer()
        if ids is not None:
            ids.give(int(context.trace_id, 16), int(context.span_id, 16))
        span = tracer.start_span(
            spec.name, _below(parent, above), _KINDS[spec.kind], attributes, start_time=nanoseconds(at)
        )
        if parent is None or above is None:
            self._flags[context.trace_id] = span.get_span_context().trace_flags
            if len(self._flags) > _MOST_OPEN:
                self._flags.popitem(last=False)
        self._open[_key(context)] = Open(span, inherited or {}, spec.attributes.get("gen_ai.operation.name"))
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)

    def get(self, context: TraceContext) -> Open | None:
        """A span that has begun and not ended."""
        return self._open.get(_key(context))

    def forget(self, context: TraceContext) -> Open | None:
        """Let go of a span that somebody else goes on with."""
        return self._open.pop(_key(context), None)

    def end(self, context: TraceContext, attributes: Described, *, failed: str | None, at: float | None) -> None:
        """End a span; nothing happens if it is not open.

        Args:
            context: Its context.
            attributes: What is known by now.
            failed: What kind of error it ended with, unless `fail` has said it.
            at: When.
        """
        found = self.forget(context)
        if found is None:
            return
        if attributes:
            found.span.set_attributes(attributes)
        if failed is not None and _unset(found.span):
            found.span.set_attribute(ERROR_TYPE, failed)
            found.span.set_status(Status(StatusCode.ERROR))
        found.span.end(nanoseconds(at))

    def fail(self, context: TraceContext, error: Exception, attributes: Mapping[str, str]) -> None:
        """Say which error it was."""
        found = self.get(context)
        if found is not None:
            kind = error.kind if isinstance(error, ObservedError) else type(error).__qualname__
            found.span.set_attributes({ERROR_TYPE: kind, **attributes})
            found.span.set_status(Status(StatusCode.ERROR, str(error)))

    def note(self, context: TraceContext, name: str, attributes: Described, at: float | None) -> None:
        """Add an event to a span."""
        found = self.get(context)
        if found is not None:
            found.span.add_event(name, attributes, nanoseconds(at))

    def ambient(self) -> TraceContext | None:
        """The span that is current in OpenTelemetry."""
        found = trace.get_current_span().get_span_context()
        if not found.is_valid:
            return None
        data: dict[str, JsonValue] | None = None if found.trace_flags.sampled else {"sampled": False}
        return TraceContext(f"{found.trace_id:032x}", f"{found.span_id:016x}", data)

    @contextmanager
    def within(self, context: TraceContext) -> Iterator[None]:
        """Make a span current. It may not have begun, and may be left in another task than it was entered in."""
        before = get_current()
        flags = self._flags.get(context.trace_id, _SAMPLED)
        current = SpanContext(int(context.trace_id, 16), int(context.span_id, 16), is_remote=False, trace_flags=flags)
        attach(trace.set_span_in_context(NonRecordingSpan(current)))
        try:
            yield
        finally:
            attach(before)  # not `detach`, which complains in another task

    async def flush(self, seconds: float) -> None:
        """Have sent what has ended."""
        flush = getattr(self.provider, "force_flush", None)
        if flush is not None:
            await anyio.to_thread.run_sync(flush, int(seconds * 1000), abandon_on_cancel=True)

    def _tracer(self) -> tuple[Tracer, "GivenIds | None"]:
        """The tracer of the provider, which the SDK makes once for each scope."""
        provider = self.provider
        if self._made is None or self._made[0] is not provider:
            tracer = provider.get_tracer(_SCOPE, schema_url=self._schema)
            self._made = provider, tracer, _given_ids(tracer)
        return self._made[1:]


def nanoseconds(at: float | None) -> int | None:
    """A time as OpenTelemetry has it; None for now."""
    return None if at is None else int(at * 1_000_000) * 1000


def _given_ids(tracer: Tracer) -> "GivenIds | None":
    """Have a tracer of the SDK use ids that are given: it is the one of our scope, nobody else's.

    A tracer of something else than the SDK makes its own ids.
    """
    others = getattr(tracer, "id_generator", None)
    if GivenIds is None or others is None:
        return None
    if isinstance(others, GivenIds):  # another provider of ours has the same tracer provider
        return others
    ids = GivenIds(others)
    tracer.id_generator = ids  # type: ignore[attr-defined]  # it has this attribute, see above
    return ids


def _below(parent: TraceContext | None, above: Open | None) -> Context:
    """The surroundings of a span: its parent and nothing else, whatever is current where it is told of."""
    if parent is None:
        return Context()
    return trace.set_span_in_context(NonRecordingSpan(_remote(parent)) if above is None else above.span, Context())


def _remote(parent: TraceContext) -> SpanContext:
    data = parent.provider_data or {}
    state = data.get("tracestate")
    return SpanContext(
        int(parent.trace_id, 16),
        int(parent.span_id, 16),
        is_remote=True,
        trace_flags=_UNSAMPLED if data.get("sampled") is False else _SAMPLED,
        trace_state=TraceState.from_header([state]) if isinstance(state, str) else None,
    )


def _unset(span: Span) -> bool:
    """Whether nobody has said that a span failed."""
    status = getattr(span, "status", None)
    return status is None or status.status_code is not StatusCode.ERROR


def _key(context: TraceContext) -> tuple[str, str]:
    return context.trace_id, context.span_id
