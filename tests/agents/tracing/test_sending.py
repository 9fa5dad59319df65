"""The providers that send keep what every provider promises; what arrives is read at a receiver, over HTTP."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from stagepost.agents import Langfuse, OpenTelemetry, TracingProvider
from stagepost.agents.testing import KEEPING_CHECKS, TRACING_CHECKS, KeepingCheck, KeptSpan, TracingCheck

pytest.importorskip("langfuse", reason="the extra is not installed")

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from tests._otlp import Receiver, receiver


class Sending:
    """A provider, and what it has sent."""

    def __init__(self, provider: TracingProvider, server: Receiver) -> None:
        self._provider = provider
        self._server = server

    @property
    def provider(self) -> TracingProvider:
        return self._provider

    async def spans(self) -> Sequence[KeptSpan]:
        return [
            KeptSpan(
                str(span.attributes.get("stagepost.observation", span.name)),
                span.trace_id,
                span.span_id,
                span.parent_id or None,
                "error" if span.status == "error" else "ok",
                span.begun / 1e9,
                span.ended / 1e9,
            )
            for span in self._server.spans
        ]


@asynccontextmanager
async def by_opentelemetry() -> AsyncIterator[Sending]:
    with receiver() as server:
        sdk = TracerProvider(shutdown_on_exit=False)
        sdk.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{server.url}/v1/traces")))
        yield Sending(OpenTelemetry(sdk), server)
        sdk.shutdown()


@asynccontextmanager
async def by_langfuse() -> AsyncIterator[Sending]:
    with receiver() as server:
        provider = Langfuse(public_key="pk", secret_key="sk", host=server.url)  # noqa: S106  # a test's
        yield Sending(provider, server)
        await provider.shutdown()


Opened = Callable[[], AbstractAsyncContextManager[Sending]]

both = pytest.mark.parametrize("opened", [by_opentelemetry, by_langfuse], ids=["OpenTelemetry", "Langfuse"])


@both
@pytest.mark.parametrize("check", TRACING_CHECKS, ids=lambda check: check.__name__)
async def test_a_provider_conforms(opened: Opened, check: TracingCheck) -> None:
    @asynccontextmanager
    async def provider() -> AsyncIterator[TracingProvider]:
        async with opened() as sending:
            yield sending.provider

    await check(provider)


@both
@pytest.mark.parametrize("check", KEEPING_CHECKS, ids=lambda check: check.__name__)
async def test_what_is_told_arrives(opened: Opened, check: KeepingCheck) -> None:
    await check(opened)
