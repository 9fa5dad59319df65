"""A request in the words of OpenAI's API, which litellm takes for all providers, as each of them wants it said."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json, to_json

from .._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage, UserMessage
from .._model import ModelRequest, OutputSchema, ToolSchema
from .._parts import Part
from ._content import filled, put_back
from ._media import content, goes_into_result
from ._names import CallIds, fitting, sendable
from ._pairing import Exchange, conversation, prompt
from ._provider import Provider

Json = dict[str, Any]

_ASK: Final = "Give your final answer as JSON, and nothing else, that fits this JSON schema of"
_NO_TEXT: Final = "(no text)"  # several providers refuse a message without any
_BELOW: Final = "(see below)"
_BETWEEN: Final = "OK"  # what the model seems to have said where Mistral wants an answer between a result and a user


def worded(request: ModelRequest, provider: Provider, *, native_schema: bool) -> Json:
    """Messages, tools and the form of the answer.

    Args:
        request: The request.
        provider: Who is asked.
        native_schema: Whether the provider knows to make a model keep to a schema. If not, or if there are tools
            beside it, the model is told in words.
    """
    native = native_schema and not request.tools
    system = _system(request, in_words=not native)
    made: Json = {"messages": [*system, *_Wording(request, provider).messages()]}
    if request.tools:
        made["tools"] = [_tool(tool) for tool in request.tools]
    if request.output is not None and native:
        made["response_format"] = _response_format(request.output)
    return made


def failed_calls(messages: Sequence[ChatMessage], told: Sequence[Json]) -> Collection[str]:
    """Ids of the calls that went wrong, as the provider is told them.

    Args:
        messages: What was said.
        told: The same as the provider is told it.
    """
    results = [result for said in conversation(messages) if isinstance(said, Exchange) for result in said.results]
    ids = [message["tool_call_id"] for message in told if message["role"] == "tool"]
    return {call_id for call_id, result in zip(ids, results, strict=True) if result.is_error}


class _Wording:
    """The messages of one request.

    Args:
        request: The request.
        provider: Who is asked.
    """

    def __init__(self, request: ModelRequest, provider: Provider) -> None:
        self._said = conversation(request.messages)
        self._provider = provider
        self._ids = CallIds(provider)
        self._tools: Collection[str] = {tool.name for tool in request.tools}
        self._apart = provider.tells_calls_apart
        self._inside = goes_into_result(provider)
        self._wants_thinking = provider.api == "deepseek" and _thinks(request, provider)

    def messages(self) -> Sequence[Json]:
        """All but the prompt."""
        told = [message for said in self._said for message in self._told(said)]
        return _with_answers_between(told) if self._provider.api == "mistral" else told

    def _told(self, said: UserMessage | Exchange) -> Iterator[Json]:
        if isinstance(said, UserMessage):
            text = said.text if said.parts else _some(said.text)
            yield {"role": "user", "content": content(text, said.parts, self._provider)}
            return
        ids = [self._ids.next(call.id) for call in said.answer.calls]
        answer = self._answer(said.answer, ids)
        results = [self._result(call_id, result) for call_id, result in zip(ids, said.results, strict=True)]
        yield from [answer, *results] if self._apart else _one_after_another(answer, results)
        if not self._inside:
            yield from self._shown(said.results)

    def _answer(self, answer: AssistantMessage, ids: Sequence[str]) -> Json:
        if not answer.calls:
            return put_back(answer, {"role": "assistant", "content": _some(answer.text)}, self._provider)
        made = [self._call(call, call_id) for call, call_id in zip(answer.calls, ids, strict=True)]
        text = answer.text if answer.text.strip() else None
        told = put_back(answer, {"role": "assistant", "content": text, "tool_calls": made}, self._provider)
        return filled(told) if self._wants_thinking else told

    def _call(self, call: ToolCall, call_id: str) -> Json:
        function = {"name": sendable(call.name, self._tools), "arguments": _arguments(call.arguments)}
        return {"id": call_id, "type": "function", "function": function}

    def _result(self, call_id: str, result: ToolMessage) -> Json:
        inside = result.parts if self._inside else ()
        text = result.text if inside else self._result_text(result)
        return {"role": "tool", "tool_call_id": call_id, "content": content(text, inside, self._provider)}

    def _result_text(self, result: ToolMessage) -> str:
        text = result.text if result.text.strip() else _BELOW if result.parts else _NO_TEXT
        if result.is_error and self._provider.api == "gemini":
            return to_json({"error": text}).decode()
        return text  # it says what went wrong; who has a mark for it gets that, too

    def _shown(self, results: Sequence[ToolMessage]) -> Iterator[Json]:
        """What the results hold beside text, in a message of its own."""
        said: list[Json] = []
        for result in results:
            if result.parts:
                parts: Sequence[Part] = result.parts
                said += content(f"From {sendable(result.tool, self._tools)}:", parts, self._provider)  # type: ignore[arg-type]  # a list, as there are parts
        if said:
            yield {"role": "user", "content": said}


def _system(request: ModelRequest, *, in_words: bool) -> Sequence[Json]:
    """One message at most: some providers take no second one."""
    said = [prompt(request.messages)]
    if request.output is not None and in_words:
        said.append(f"{_ASK} {request.output.name}:\n{to_json(request.output.schema).decode()}")
    text = "\n\n".join(filter(None, said))
    return [{"role": "system", "content": text}] if text else []


def _thinks(request: ModelRequest, provider: Provider) -> bool:
    """Whether a model of DeepSeek's thinks before it answers."""
    thinking, effort = request.settings.extra.get("thinking"), request.settings.reasoning_effort
    if isinstance(thinking, Mapping):
        return thinking.get("type") != "disabled"
    return effort != "none" if effort is not None else "reasoner" in provider.model


def _some(text: str) -> str:
    return text if text.strip() else _NO_TEXT


def _one_after_another(answer: Json, results: Sequence[Json]) -> Iterator[Json]:
    """An answer with its results; what it calls the same way once more comes in an answer of its own.

    litellm leaves out such calls of one answer, but not their results.
    """
    rounds: list[dict[tuple[str, str], tuple[Json, Json]]] = [{}]
    for call, result in zip(answer.get("tool_calls", ()), results, strict=True):
        function = call["function"]
        key = function["name"], function["arguments"]
        free = next((made for made in rounds if key not in made), None)
        if free is None:
            rounds.append(free := {})
        free[key] = call, result
    yield {**answer, "tool_calls": [call for call, _ in rounds[0].values()]} if results else answer
    yield from (result for _, result in rounds[0].values())
    for made in rounds[1:]:
        yield {"role": "assistant", "content": None, "tool_calls": [call for call, _ in made.values()]}
        yield from (result for _, result in made.values())


def _with_answers_between(told: Sequence[Json]) -> Sequence[Json]:
    made: list[Json] = []
    for message in told:
        if message["role"] == "user" and made and made[-1]["role"] == "tool":
            made.append({"role": "assistant", "content": _BETWEEN})
        made.append(message)
    return made


def _arguments(text: str) -> str:
    """What the model wrote; as the text of an object if it is none, since some providers only take objects back."""
    try:
        readable = isinstance(from_json(text, allow_inf_nan=False), Mapping)
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
    schema = {"name": fitting(output.name) or "answer", "schema": dict(output.schema), "strict": False}
    return {"type": "json_schema", "json_schema": schema}
