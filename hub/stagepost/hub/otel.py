"""OpenTelemetry for a hub: ``Hub(middleware=[OpenTelemetryMiddleware()])``. Needs the extra ``otel``.

The middleware makes traces: a span for everything that is sent and for every message that is handled, by the semantic
conventions for messaging. The sender's span travels in the headers ``traceparent`` and ``tracestate`` (W3C Trace
Context), so the handler's span is its child, on whichever hub of whichever process the message is handled.

`HubInstruments` makes metrics of what a hub counts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from stagepost._installing import how_to_install

from ._hub import Context
from ._message import Message, MessageType
from ._middleware import Proceed
from ._sending import Outgoing, SendOn

try:
    from opentelemetry import trace
    from opentelemetry.context import Context as Surroundings
    from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, Tracer, TracerProvider
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    from ._instruments import HubInstruments
except ModuleNotFoundError as error:
    raise ImportError(
        f"stagepost.hub.otel needs opentelemetry-api, which is not installed: {how_to_install('otel')}", name=error.name
    ) from None

__all__ = ["HubInstruments", "OpenTelemetryMiddleware"]

_SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.0"
_W3C: Final = TraceContextTextMapPropagator()
_SYSTEM: Final = "stagepost"
_TRACEPARENT: Final = "traceparent"
_PUBLICATION: Final = "publish"
_NAMES: Final[Mapping[MessageType, str]] = {
    MessageType.REQUEST: "request",
    MessageType.NOTIFICATION: "send",
    MessageType.BROADCAST: "broadcast",
}


class OpenTelemetryMiddleware:
    """Makes spans of what a hub sends and handles.

    Sending makes a span of kind PRODUCER, named ``send``, ``request``, ``publish`` or ``broadcast`` and the agent or
    topic; it is the child of the current span. Handling makes one of kind CONSUMER, named ``process`` and the agent or
    topic, and makes it the current span of the handler; it is the child of the sender's span, and linked to it. A
    message that already has a header ``traceparent`` keeps it (a bridge carries a message so): its handlers' spans are
    children of that span, and the new sender's span is linked to it.

    Spans carry no payload and no text of errors, only their class as ``error.type``. A cancelled handler or sender has
    ``error.type`` ``cancelled``.

    Args:
        tracer_provider: Makes the spans; by default the global one of OpenTelemetry, looked up when a span is made.
    """

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        self._provider = tracer_provider

    async def __call__(self, context: Context, proceed: Proceed) -> object:
        """Handle a message in a span."""
        message, hub = context.message, context.hub.name
        parent = _extracted(message)
        creation = trace.get_current_span(parent).get_span_context()
        with self._span(
            f"process {message.topic or message.recipient}",
            SpanKind.CONSUMER,
            _handled(message, hub),
            parent=parent,
            link=creation,
        ):
            return await proceed()

    async def sending(self, outgoing: Outgoing, send_on: SendOn) -> object:
        """Send in a span, whose context goes with the message."""
        destination = outgoing.recipient if outgoing.topic is None else outgoing.topic
        operation = _NAMES[outgoing.type] if outgoing.topic is None else _PUBLICATION
        given = trace.get_current_span(_W3C.extract(outgoing.headers, Surroundings())).get_span_context()
        with self._span(
            f"{operation} {destination}" if destination else operation,
            SpanKind.PRODUCER,
            _sent(outgoing, operation, destination),
            parent=None,
            link=given,
        ):
            if given.is_valid:
                return await send_on(outgoing.headers)
            headers = {name: value for name, value in outgoing.headers.items() if name != _TRACEPARENT}
            _W3C.inject(headers)
            return await send_on(headers)

    @contextmanager
    def _span(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, str],
        *,
        parent: Surroundings | None,
        link: SpanContext,
    ) -> Iterator[None]:
        links = [Link(link)] if link.is_valid else []
        span = self._tracer().start_span(name, parent, kind, attributes, links)
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        except BaseException as failure:
            _fail(span, type(failure).__qualname__ if isinstance(failure, Exception) else "cancelled")
            raise
        finally:
            span.end()

    def _tracer(self) -> Tracer:
        provider = self._provider or trace.get_tracer_provider()
        return provider.get_tracer("stagepost.hub", schema_url=_SCHEMA)


def _extracted(message: Message[object]) -> Surroundings:
    """The sender's context: from the header, or from the message's trace if that is a traceparent."""
    carrier = message.headers if _TRACEPARENT in message.headers else {_TRACEPARENT: message.trace}
    return _W3C.extract(carrier, Surroundings())


def _handled(message: Message[object], hub: str) -> dict[str, str]:
    about = {
        "messaging.system": _SYSTEM,
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": message.topic or message.recipient,
        "messaging.message.id": message.id,
        "messaging.message.conversation_id": message.trace,
        "messaging.client.id": message.recipient,
        "stagepost.hub.name": hub,
    }
    if message.topic is not None:
        about["messaging.destination.subscription.name"] = message.recipient
    return about


def _sent(outgoing: Outgoing, operation: str, destination: str | None) -> dict[str, str]:
    about = {
        "messaging.system": _SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": "send",
        "stagepost.hub.name": outgoing.hub,
    }
    if destination is not None:
        about["messaging.destination.name"] = destination
    if outgoing.sender is not None:
        about["messaging.client.id"] = outgoing.sender
    return about


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
