"""A request in the words of OpenAI's API, which litellm takes for all providers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json, to_json

from .._messages import AssistantMessage, ChatMessage, SystemMessage, ToolCall, ToolMessage
from .._model import ModelRequest, OutputSchema, ToolSchema

Json = dict[str, Any]

_ASK: Final = "Give your final answer as JSON, and nothing else, that fits this JSON schema of"


def worded(request: ModelRequest, *, native_schema: bool) -> Json:
    """Messages, tools and the form of the answer.

    Args:
        request: The request.
        native_schema: Whether the provider knows to make a model keep to a schema. The model is told in words, too.
    """
    made: Json = {"messages": _messages(request.messages, request.output)}
    if request.tools:
        made["tools"] = [_tool(tool) for tool in request.tools]
    if request.output is not None and native_schema:
        made["response_format"] = _response_format(request.output)
    return made


def _messages(messages: Sequence[ChatMessage], output: OutputSchema | None) -> list[Json]:
    made = [_message(message) for message in messages]
    if output is None:
        return made
    told = f"{_ASK} {output.name}:\n{to_json(output.schema).decode()}"
    if made and made[0]["role"] == "system":  # one message: some providers take no second one
        return [{"role": "system", "content": f"{made[0]['content']}\n\n{told}"}, *made[1:]]
    return [{"role": "system", "content": told}, *made]


def _message(message: ChatMessage) -> Json:
    match message:
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case AssistantMessage(calls=()):
            return {"role": "assistant", "content": message.text}
        case AssistantMessage():
            calls = [_call(call) for call in message.calls]
            return {"role": "assistant", "content": message.text or None, "tool_calls": calls}
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case _:
            return {"role": "user", "content": message.text}


def _call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call.arguments)}}


def _arguments(text: str) -> str:
    """What the model wrote; as the text of an object if it is none, since some providers only take objects back."""
    try:
        readable = isinstance(from_json(text), Mapping)
    except ValueError:
        readable = False
    return text if readable else to_json({"unreadable": text}).decode()


def _tool(tool: ToolSchema) -> Json:
    parameters = dict(tool.parameters)
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def _response_format(output: OutputSchema) -> Json:
    schema = {"name": output.name, "schema": dict(output.schema), "strict": False}
    return {"type": "json_schema", "json_schema": schema}
