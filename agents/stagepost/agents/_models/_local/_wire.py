"""Answers as OpenAI's API writes them, whole or in chunks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_json

from .._messages import ToolCall
from .._model import ModelResponse

_WORDS: Final = re.compile(r"\S*\s*")
_PIECE: Final = 8  # characters of a call's arguments that come at once
_HEAD: Final = {"id": "chatcmpl-local", "created": 0}

DONE: Final = b"data: [DONE]\n\n"

Json = dict[str, Any]


def completion(response: ModelResponse, body: Mapping[str, Any]) -> Json:
    """A whole answer to a request's body."""
    message: Json = {"role": "assistant", "content": response.text or None}
    if response.calls:
        message["tool_calls"] = [_tool_call(call) for call in response.calls]
    choice = {"index": 0, "message": message, "finish_reason": _reason(response)}
    return {**_envelope("chat.completion", body), "choices": [choice], "usage": _usage(response)}


def chunks(response: ModelResponse, body: Mapping[str, Any]) -> Iterator[bytes]:
    """The events of a streamed answer, without the last one, `DONE`."""
    envelope = _envelope("chat.completion.chunk", body)

    def event(delta: Json, reason: str | None = None) -> bytes:
        return _event({**envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield event({"role": "assistant", "content": ""})
    for word in filter(None, _WORDS.findall(response.text)):
        yield event({"content": word})
    for index, call in enumerate(response.calls):
        for delta in _call_deltas(call):
            yield event({"tool_calls": [{"index": index, **delta}]})
    yield event({}, _reason(response))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _event({**envelope, "choices": [], "usage": _usage(response)})


def problem(message: str, code: int) -> Json:
    """An error."""
    return {"error": {"message": message, "type": "local_server", "param": None, "code": str(code)}}


def _event(data: Json) -> bytes:
    return b"data: " + to_json(data) + b"\n\n"


def _envelope(kind: str, body: Mapping[str, Any]) -> Json:
    return {**_HEAD, "object": kind, "model": str(body.get("model", "local"))}


def _reason(response: ModelResponse) -> str:
    return "tool_calls" if response.calls else "stop"


def _usage(response: ModelResponse) -> Json:
    usage = response.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
    }


def _tool_call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _call_deltas(call: ToolCall) -> Iterator[Json]:
    """The name first, then the arguments piece by piece."""
    yield {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    for start in range(0, len(call.arguments), _PIECE):
        yield {"function": {"arguments": call.arguments[start : start + _PIECE]}}
