"""Messages of agents in the form that OpenTelemetry's conventions give them: a role, and parts with a type each."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

GenAiMessage = dict[str, JsonValue]


def input_messages(messages: Sequence[JsonValue]) -> list[GenAiMessage]:
    """What a model is asked."""
    return [_message(each) for each in messages if isinstance(each, dict)]


def output_messages(output: Mapping[str, JsonValue]) -> list[GenAiMessage]:
    """What it has answered: a message with the reason of its end.

    Args:
        output: The message, or an object that has it as its ``message``.
    """
    inner = output.get("message")
    message = inner if isinstance(inner, dict) else output
    reason = "tool_call" if message.get("calls") else "stop"
    return [{**_message({"role": "assistant", **message}), "finish_reason": str(output.get("finish_reason") or reason)}]


def _message(message: Mapping[str, JsonValue]) -> GenAiMessage:
    role = message.get("role")
    parts: list[JsonValue] = []
    if message.get("thinking"):
        parts.append({"type": "reasoning", "content": message["thinking"]})
    if role == "tool":
        parts.append({"type": "tool_call_response", "id": message.get("call_id"), "response": message.get("text")})
    elif message.get("text"):
        parts.append({"type": "text", "content": message["text"]})
    parts += [_call(each) for each in _listed(message.get("calls"))]
    parts += [_media(each) for each in _listed(message.get("parts"))]
    return {"role": role, "parts": parts}


def _call(call: Mapping[str, JsonValue]) -> JsonValue:
    return {
        "type": "tool_call",
        "id": call.get("id"),
        "name": call.get("name"),
        "arguments": _parsed(call.get("arguments")),
    }


def _media(part: Mapping[str, JsonValue]) -> JsonValue:
    """A picture, sound or file: by its address, or the digest that its bytes are stored under; never the bytes."""
    about = {"modality": part.get("kind"), "mime_type": part.get("media_type")}
    if part.get("url") is not None:
        return {"type": "uri", **about, "uri": part["url"]}
    return {"type": "file", **about, "file_id": part.get("digest") or part.get("name") or ""}


def _listed(values: JsonValue) -> list[dict[str, JsonValue]]:
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _parsed(arguments: JsonValue) -> JsonValue:
    """Arguments as JSON values, if the model wrote JSON."""
    if not isinstance(arguments, str):
        return arguments
    try:
        found: JsonValue = json.loads(arguments)
    except ValueError:
        return arguments
    return found
