"""OpenTelemetry for a hub: the spans, their places in the trace, and how they cross hubs and processes."""

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from anyio import Event, create_task_group, fail_after
from tests.hub._agents import Ping, Pong, echo, fail

from stagepost.hub import AgentNotFound, Bridge, Context, HandlerFailed, Hub, Message, Proceed
from stagepost.hub.testing import idle

pytest.importorskip("opentelemetry.sdk", reason="the extra is not installed")


from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id
from tests._otlp import receiver

import stagepost.hub.otel
from stagepost.hub.otel import OpenTelemetryMiddleware

REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Spans:
    """The spans that were made in memory."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.layer = OpenTelemetryMiddleware(self.provider)

    def named(self, name: str) -> ReadableSpan:
        (span,) = [span for span in self.exporter.get_finished_spans() if span.name == name]
        return span

    def path(self, name: str) -> list[str]:
        """The names from the root of the trace to a span."""
        spans = {span.context.span_id: span for span in self.exporter.get_finished_spans()}
        names: list[str] = []
        span = self.named(name)
        while True:
            names.insert(0, span.name)
            if span.parent is None or span.parent.span_id not in spans:
                return names
            span = spans[span.parent.span_id]


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans()
    yield made
    made.provider.shutdown()


def about(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_request_is_a_producer_and_a_consumer_span_below_it(spans: Spans) -> None:
    seen: list[Message[Ping]] = []

    async def note(message: Message[Ping]) -> Pong:
        seen.append(message)
        return Pong(1)

    with fail_after(5):
        async with Hub("main", middleware=[spans.layer]) as hub:
            hub.register("noter", note)
            await hub.request("noter", Ping(), sender="me")
    sent, handled = spans.named("request noter"), spans.named("process noter")
    assert (sent.kind, handled.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert sent.parent is None
    assert handled.parent is not None
    assert handled.parent.span_id == sent.context.span_id
    assert handled.context.trace_id == sent.context.trace_id
    assert [link.context.span_id for link in handled.links] == [sent.context.span_id]
    assert about(sent) == {
        "messaging.system": "stagepost",
        "messaging.operation.name": "request",
        "messaging.operation.type": "send",
        "messaging.destination.name": "noter",
        "messaging.client.id": "me",
        "stagepost.hub.name": "main",
    }
    assert about(handled) == {
        "messaging.system": "stagepost",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "noter",
        "messaging.message.id": seen[0].id,
        "messaging.message.conversation_id": seen[0].trace,
        "messaging.client.id": "noter",
        "stagepost.hub.name": "main",
    }
    ids = format_trace_id(sent.context.trace_id), format_span_id(sent.context.span_id)
    assert seen[0].headers["traceparent"] == f"00-{ids[0]}-{ids[1]}-{int(sent.context.trace_flags):02x}"


async def test_what_a_handler_sends_is_below_its_span(spans: Spans) -> None:
    async def relay(ping: Ping, context: Context) -> None:
        await context.send("echo", ping)
        await context.hub.publish("pings", ping)
        await context.broadcast("nobody takes this")

    with fail_after(5):
        async with Hub(middleware=[spans.layer]) as hub:
            hub.register("echo", echo)
            hub.register("ear", echo, topics=["pings"])
            hub.register("relay", relay)
            await hub.request("relay", Ping())
            await idle(hub)
    top = ["request relay", "process relay"]
    assert spans.path("process echo") == [*top, "send echo", "process echo"]
    assert spans.path("process pings") == [*top, "publish pings", "process pings"]
    assert spans.path("broadcast") == [*top, "broadcast"]
    assert about(spans.named("process pings"))["messaging.destination.subscription.name"] == "ear"
    assert about(spans.named("process pings"))["messaging.destination.name"] == "pings"
    assert "messaging.destination.name" not in about(spans.named("broadcast"))


async def test_the_senders_span_is_below_the_current_one_and_the_handlers_is_current(spans: Spans) -> None:
    tracer = spans.provider.get_tracer("mine")

    async def work(_: Ping) -> None:
        with tracer.start_as_current_span("inside"):
            pass

    with fail_after(5):
        async with Hub(middleware=[spans.layer]) as hub:
            hub.register("worker", work)
            with tracer.start_as_current_span("outside"):
                await hub.request("worker", Ping())
    assert spans.path("inside") == ["outside", "request worker", "process worker", "inside"]


async def test_a_traceparent_that_is_given_stays_and_its_span_is_the_handlers_parent(spans: Spans) -> None:
    seen: list[Message[Ping]] = []

    async def note(message: Message[Ping]) -> None:
        seen.append(message)

    with fail_after(5):
        async with Hub(middleware=[spans.layer]) as hub:
            hub.register("noter", note)
            await hub.request("noter", Ping(), headers={"traceparent": REMOTE, "tracestate": "a=b"})
    handled, sent = spans.named("process noter"), spans.named("request noter")
    assert dict(seen[0].headers) == {"traceparent": REMOTE, "tracestate": "a=b"}
    assert handled.parent is not None
    assert format_span_id(handled.parent.span_id) == "b7ad6b7169203331"
    assert handled.context.trace_state.get("a") == "b"
    assert [format_span_id(link.context.span_id) for link in sent.links] == ["b7ad6b7169203331"]


async def test_a_traceparent_that_is_none_is_replaced(spans: Spans) -> None:
    with fail_after(5):
        async with Hub(middleware=[spans.layer]) as hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping(), headers={"traceparent": "nonsense"})
    assert spans.path("process echo") == ["request echo", "process echo"]


async def test_a_message_that_was_sent_without_the_middleware_has_its_trace_as_parent(spans: Spans) -> None:
    class Handling:
        """Only the handling side."""

        async def __call__(self, context: Context, proceed: Proceed) -> object:
            return await spans.layer(context, proceed)

    with fail_after(5):
        async with Hub(middleware=[Handling()]) as hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping(), trace=REMOTE)
    parent = spans.named("process echo").parent
    assert parent is not None
    assert format_span_id(parent.span_id) == "b7ad6b7169203331"


async def test_failures_are_errors_by_class_and_say_nothing_else(spans: Spans) -> None:
    with fail_after(5):
        async with Hub(middleware=[spans.layer]) as hub:
            hub.register("bad", fail)
            with pytest.raises(HandlerFailed):
                await hub.request("bad", Ping())
            with pytest.raises(AgentNotFound):
                await hub.send("nobody", Ping())
    for name, kind in (
        ("process bad", "ZeroDivisionError"),
        ("request bad", "HandlerFailed"),
        ("send nobody", "AgentNotFound"),
    ):
        span = spans.named(name)
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
        assert about(span)["error.type"] == kind
        assert span.events == ()


async def test_whoever_is_cancelled_ends_its_span(spans: Spans) -> None:
    entered = Event()

    async def hang(_: Ping) -> None:
        entered.set()
        await Event().wait()

    with fail_after(5):
        async with Hub(middleware=[spans.layer]) as hub, create_task_group() as tasks:
            hub.register("hanger", hang)
            tasks.start_soon(hub.request, "hanger", Ping())
            await entered.wait()
            tasks.cancel_scope.cancel()
    assert {name: about(spans.named(name))["error.type"] for name in ("request hanger", "process hanger")} == {
        "request hanger": "cancelled",
        "process hanger": "cancelled",
    }


async def test_a_publication_keeps_its_trace_and_its_cause_over_a_bridge(spans: Spans) -> None:
    heard: list[Message[Ping]] = []
    here: list[Message[Ping]] = []

    async def listen(message: Message[Ping]) -> None:
        heard.append(message)

    async def listen_here(message: Message[Ping]) -> None:
        here.append(message)

    with fail_after(5):
        async with Hub("one", middleware=[spans.layer]) as one, Hub("two", middleware=[spans.layer]) as two:
            one.register("near", listen_here, topics=["pings"])
            two.register("far", listen, topics=["pings"])
            bridge = Bridge(one, two, topics=["pings"])
            await one.publish("pings", Ping())
            await idle(one)
            await idle(two)
    published = [each for each in spans.exporter.get_finished_spans() if each.name == "publish pings"]
    processed = {
        (each.attributes or {})["messaging.client.id"]: each
        for each in spans.exporter.get_finished_spans()
        if each.name == "process pings"
    }
    assert bridge.id == "bridge"
    assert set(processed) == {"near", "far", "bridge"}
    assert len({each.context.trace_id for each in [*published, *processed.values()]}) == 1
    assert len({each.parent.span_id for each in processed.values() if each.parent is not None}) == 1
    assert heard[0].trace == here[0].trace
    assert heard[0].cause == _carried(processed["bridge"])


def _carried(span: ReadableSpan) -> object:
    """The id of the message that the bridge has carried: of the same publication, but its own."""
    return (span.attributes or {})["messaging.message.id"]


async def test_without_a_provider_the_global_one_is_asked_and_may_do_nothing() -> None:
    assert type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider"
    with fail_after(5):
        async with Hub(middleware=[OpenTelemetryMiddleware()]) as hub:
            hub.register("echo", echo)
            assert await hub.request("echo", Ping(3)) == Pong(3)


async def test_a_collector_gets_the_spans_over_http() -> None:
    with receiver() as collector:
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
        with fail_after(20):
            async with Hub(middleware=[OpenTelemetryMiddleware(provider)]) as hub:
                hub.register("echo", echo)
                await hub.request("echo", Ping())
        provider.shutdown()
    assert collector.orphans() == []
    assert collector.named("process echo").parent_id == collector.named("request echo").span_id
    assert collector.named("process echo").kind == "consumer"


def test_without_opentelemetry_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    spec = importlib.util.spec_from_file_location("stagepost.hub.otel_again", stagepost.hub.otel.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ImportError, match=r"needs opentelemetry-api, which is not installed: .*\[otel\]"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
