"""A local receiver that speaks OTLP over HTTP, as collectors and Langfuse do, and what has arrived there."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
STATUSES = {0: "unset", 1: "ok", 2: "error"}


@dataclass(frozen=True)
class Arrived:
    """A span as it came in."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: str
    status: str
    message: str
    begun: int
    ended: int
    scope: str
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[tuple[str, str]]
    resource: dict[str, Any]


@dataclass
class Receiver:
    """What a local server was sent."""

    url: str
    spans: list[Arrived] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def named(self, name: str) -> Arrived:
        """The one span with this name."""
        (span,) = [span for span in self.spans if span.name == name]
        return span

    def children(self, span: Arrived) -> list[str]:
        """The names of the spans below another one, by their begin."""
        below = [each for each in self.spans if each.parent_id == span.span_id]
        return [each.name for each in sorted(below, key=lambda each: (each.begun, each.name))]

    def orphans(self, *known: str) -> list[Arrived]:
        """Spans whose parent neither came in nor is known."""
        there = {span.span_id for span in self.spans} | set(known) | {""}
        return [span for span in self.spans if span.parent_id not in there]

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        """Note a request."""
        request = ExportTraceServiceRequest.FromString(
            gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
        )
        with self.lock:
            self.requests.append((path, headers))
            for group in request.resource_spans:
                resource = {pair.key: _value(pair.value) for pair in group.resource.attributes}
                for scoped in group.scope_spans:
                    self.spans += [_arrived(span, scoped.scope.name, resource) for span in scoped.spans]


@contextmanager
def receiver(status: int = 200) -> Iterator[Receiver]:
    """Run a receiver on a free port; it answers with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.take(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *about: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        got = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield got
        finally:
            server.shutdown()
            thread.join()


def _arrived(span: Any, scope: str, resource: dict[str, Any]) -> Arrived:
    return Arrived(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        kind=KINDS[span.kind],
        status=STATUSES[span.status.code],
        message=span.status.message,
        begun=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        scope=scope,
        attributes={pair.key: _value(pair.value) for pair in span.attributes},
        events=[(event.name, {pair.key: _value(pair.value) for pair in event.attributes}) for event in span.events],
        links=[(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        resource=resource,
    )


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)
