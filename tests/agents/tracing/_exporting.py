"""Agents whose runs are exported to a receiver, in processes that may be killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from tests.agents._mortal import Notes, mailer

from stagepost.agents import BaseTracingProvider, Langfuse, OpenTelemetry, Tracing
from stagepost.checkpoint import SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import Runner

REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
REMOTE_TRACE, REMOTE_SPAN = REMOTE.split("-")[1:3]


@contextmanager
def tracer_provider(url: str) -> Iterator[TracerProvider]:
    """Sends each span to a collector as it ends."""
    sdk = TracerProvider(shutdown_on_exit=False)
    sdk.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
    try:
        yield sdk
    finally:
        sdk.shutdown()


@contextmanager
def exporting(url: str) -> Iterator[BaseTracingProvider]:
    """A provider that does."""
    with tracer_provider(url) as sdk:
        yield OpenTelemetry(sdk)


def langfuse(url: str) -> Langfuse:
    """One that sends to a server of Langfuse's kind; by batches, of one span each."""
    os.environ["LANGFUSE_FLUSH_AT"] = "1"
    return Langfuse(public_key="pk", secret_key="sk", host=url)  # noqa: S106  # a test's


async def first_life(folder: str, url: str, kind: str, *held: str) -> None:
    """Start a traced run by a request that belongs to somebody's trace, and wait to be killed."""
    notes = Notes(Path(folder), frozenset(held))
    with exporting(url) as otel:
        provider = otel if kind == "otel" else langfuse(url)
        async with (
            SqliteStore(Path(folder) / "runs.db") as store,
            Hub() as hub,
            Runner(store, hub=hub, tracing=Tracing(provider, content=True)) as runner,
        ):
            await runner.serve(mailer(notes))
            headers = {"idempotency-key": "mail", "traceparent": REMOTE}
            await hub.request("mailer", "Write to Ann.", timeout=None, headers=headers)


async def second_life(folder: Path, url: str, kind: str) -> str:
    """Take the run up again, and return its answer."""
    with exporting(url) as otel:
        provider = otel if kind == "otel" else langfuse(url)
        async with (
            SqliteStore(folder / "runs.db") as store,
            Hub() as hub,
            Runner(store, hub=hub, tracing=Tracing(provider, content=True)) as runner,
        ):
            await runner.serve(mailer(Notes(folder)))
            (run,) = (await runner.recover()).resumed
            await run.result()
            answer = await hub.request(
                "mailer", "Write to Ann.", expect=str, timeout=None, headers={"idempotency-key": "mail"}
            )
        if kind == "langfuse":
            await provider.shutdown()
        return answer
