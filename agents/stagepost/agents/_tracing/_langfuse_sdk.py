"""Langfuse's SDK: the one module that imports it. It sends spans of OpenTelemetry to Langfuse."""

import os
from typing import Final

from langfuse._client.span_processor import LangfuseSpanProcessor  # its client would bring a process-wide one
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

FORGOTTEN: Final = "stagepost.suspended"
"""Attribute of a span that is not sent, because the run goes on with it later."""


def langfuse_provider(public_key: str, secret_key: str, host: str) -> TracerProvider:
    """A tracer provider that sends to Langfuse and is nobody else's.

    Langfuse's own client is not made: there is one for each key in a process, which may be the application's, and it
    would become the global provider of OpenTelemetry.
    """
    about = {
        "langfuse.environment": os.environ.get("LANGFUSE_TRACING_ENVIRONMENT"),
        "langfuse.release": os.environ.get("LANGFUSE_RELEASE"),
    }
    provider = TracerProvider(resource=Resource.create({key: value for key, value in about.items() if value}))
    provider.add_span_processor(
        LangfuseSpanProcessor(
            public_key=public_key, secret_key=secret_key, base_url=host.rstrip("/"), should_export_span=_is_sent
        )
    )
    return provider


def _is_sent(span: ReadableSpan) -> bool:
    return FORGOTTEN not in (span.attributes or {})
