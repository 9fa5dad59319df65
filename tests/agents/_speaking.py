"""A server that says what it is told to say, byte by byte, and keeps what it was asked."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """An answer: its media type, and its body."""

    kind: str
    body: bytes


@dataclass
class Speaker:
    """The server: where it is, and what it was asked."""

    url: str
    asked: list[Json] = field(default_factory=list)


def whole(body: Mapping[str, Any]) -> Said:
    return Said("application/json", json.dumps(body).encode())


def streamed(*events: Mapping[str, Any], done: bool = False) -> Said:
    named = [
        (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n" for event in events
    ]
    return Said("text/event-stream", "".join([*named, *(["data: [DONE]\n\n"] if done else [])]).encode())


@contextmanager
def speaking(*answers: Said) -> Iterator[Speaker]:
    """A server with these answers, in order; the last one for all that come after."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            speaker.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            said = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(200)
            self.send_header("content-type", said.kind)
            self.send_header("content-length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    speaker = Speaker(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield speaker
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# Answers of chat completions.


def completion(message: Json, *, reason: str = "stop", **beside: Any) -> Said:
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **message}, "finish_reason": reason}
    return whole({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **beside})


def chunks(*deltas: Json, reason: str | None = "stop", **beside: Any) -> Said:
    made = [({"index": 0, "delta": delta, "finish_reason": None},) for delta in deltas]
    ends = [({"index": 0, "delta": {}, "finish_reason": reason},)] if reason else []
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    told = [{**head, "choices": list(choices)} for choices in [*made, *ends]]
    return streamed(*told, *([{**head, "choices": [], **beside}] if beside else []), done=True)


def tool_call(name: str, arguments: str = "{}", *, call: str = "call_1", index: int = 0) -> Json:
    return {"index": index, "id": call, "type": "function", "function": {"name": name, "arguments": arguments}}


# Answers of Anthropic.


def message(*blocks: Json, reason: str = "end_turn", usage: Any = None) -> Said:
    body = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None}
    counted = {"input_tokens": 9, "output_tokens": 5} if usage is None else usage
    return whole({**body, "content": list(blocks), "stop_reason": reason, "usage": counted})


def blocks(*given: Sequence[Json], reason: str = "end_turn") -> Said:
    """Each block as its start and its deltas."""
    counted = {"input_tokens": 9, "output_tokens": 5}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "usage": counted}
    events: list[Json] = [{"type": "message_start", "message": head}]
    for index, (start, *deltas) in enumerate(given):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
    return streamed(*events, {"type": "message_stop"})
