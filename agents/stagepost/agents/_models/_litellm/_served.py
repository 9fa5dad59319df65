"""What a provider's own tools leave in an answer, read from the wire: litellm brings it in pieces and out of order.

The content of such an answer is kept as the provider has written it, in its order, without the calls of our tools,
which are told as always. It is put back the same way: litellm is given a mark in the place of the answer's text, and
the mark is replaced in the request (`Edits`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from pydantic_core import from_json, to_json

from .._messages import AssistantMessage, ChatMessage
from ._provider import Provider

Json = dict[str, Any]

_MARK: Final = "stagepost-content-"
_OUR_CALLS: Final = ("tool_use", "function_call", "custom_tool_call")
_PLAIN_ITEMS: Final = ("reasoning", "message", "function_call", "custom_tool_call")
_SERVED_PARTS: Final = ("executableCode", "codeExecutionResult", "toolCall", "toolResponse")


class Served:
    """Gathers what the provider's own tools leave in one answer."""

    def __init__(self) -> None:
        self._blocks: list[Json] = []  # of Anthropic's messages; what is written of calls so far under "partial"
        self._items: Sequence[Json] = ()  # of OpenAI's responses
        self._parts: list[Json] = []  # of Gemini
        self._sources: dict[str, Any] = {}

    def add(self, said: Json) -> None:
        """Take in an answer, or an event of one."""
        kind = said.get("type")
        if kind == "message" and isinstance(said.get("content"), list):
            self._blocks = [block for block in said["content"] if isinstance(block, dict)]
        elif kind == "content_block_start" and isinstance(said.get("content_block"), dict):
            self._blocks.append(dict(said["content_block"]))
        elif kind == "content_block_delta" and self._blocks and isinstance(said.get("delta"), dict):
            _extend(self._blocks[-1], said["delta"])
        elif isinstance(response := said.get("response", said), dict) and response.get("object") == "response":
            self._items = [item for item in response.get("output") or () if isinstance(item, dict)] or self._items
        else:
            self._add_others(said)

    def _add_others(self, said: Json) -> None:
        for candidate in _first_of(said, "candidates"):
            content = candidate.get("content")
            parts = content.get("parts") if isinstance(content, Mapping) else None
            self._parts += [part for part in parts or () if isinstance(part, dict) and part != {"text": ""}]
            if isinstance(found := candidate.get("groundingMetadata"), dict) and found:
                self._sources["grounding"] = found
        for choice in _first_of(said, "choices"):
            told = choice.get("message") or choice.get("delta")
            if isinstance(told, Mapping) and isinstance(found := told.get("annotations"), list) and found:
                self._sources["annotations"] = [*self._sources.get("annotations", ()), *found]

    @property
    def calls(self) -> Collection[str]:
        """Ids of the calls that the provider has made itself."""
        return frozenset(str(block.get("id")) for block in self._blocks if _is_served_call(block))

    @property
    def data(self) -> Sequence[Json]:
        """What is to be kept; nothing, if no tool of the provider's was used."""
        kept: list[Json] = []
        content = [_finished(block) for block in self._blocks] if any(map(_is_served, self._blocks)) else []
        content += self._items if any(item.get("type") not in _PLAIN_ITEMS for item in self._items) else ()
        content += self._parts if any(part.keys() & {*_SERVED_PARTS} for part in self._parts) else ()
        if content:
            kept.append({"content": [one for one in content if not _is_our_call(one)]})
        return [*kept, *({name: found} for name, found in self._sources.items())]


def marks(messages: Sequence[ChatMessage], provider: Provider) -> Mapping[str, Sequence[Json]]:
    """The marks that stand for answers of a provider in what litellm is told, and what they stand for."""
    answers = (message for message in messages if isinstance(message, AssistantMessage) and message.provider)
    contents = (content for answer in answers if (content := content_of(answer, provider)) is not None)
    return {mark(content): content for content in contents}


def without_contents(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The same for an API that does not take them, although they are its provider's: they are told as texts."""
    return [_without_content(message) if isinstance(message, AssistantMessage) else message for message in messages]


def content_of(answer: AssistantMessage, provider: Provider) -> Sequence[Json] | None:
    """The content of an answer as its provider has written it, for this provider; None if it is kept in another way."""
    for one in answer.provider:
        if provider.made(one.provider, one.model):
            for item in one.data:
                if isinstance(item, dict) and isinstance(found := item.get("content"), list):
                    return found  # type: ignore[return-value]  # of objects, as `Served` has made it
    return None


def mark(content: Sequence[Json]) -> str:
    """What stands for a content in what litellm is told."""
    return f"{_MARK}{sha256(to_json(content)).hexdigest()[:32]}"


def is_mark(text: object) -> bool:
    """Whether a text stands for a content."""
    return isinstance(text, str) and text.startswith(_MARK)


def _without_content(answer: AssistantMessage) -> AssistantMessage:
    kept = [
        one for one in answer.provider if not any(isinstance(each, dict) and "content" in each for each in one.data)
    ]
    return answer if len(kept) == len(answer.provider) else answer.model_copy(update={"provider": tuple(kept)})


def _extend(block: Json, delta: Mapping[str, Any]) -> None:
    """Add what a delta of a stream brings to a block."""
    match delta.get("type"):
        case "text_delta":
            block["text"] = block.get("text", "") + delta.get("text", "")
        case "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta.get("thinking", "")
        case "signature_delta":
            block["signature"] = delta.get("signature", "")
        case "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        case "input_json_delta":
            block["partial"] = block.get("partial", "") + delta.get("partial_json", "")


def _finished(block: Json) -> Json:
    """A block whose input has come in pieces."""
    made = {key: value for key, value in block.items() if key != "partial"}
    if block.get("partial"):
        with suppress(ValueError):  # what came first is left then
            made["input"] = from_json(block["partial"])
    return {key: value for key, value in made.items() if not (key == "citations" and value is None)}


def _is_served(block: Json) -> bool:
    return _is_served_call(block) or str(block.get("type")).endswith("_tool_result")


def _is_served_call(block: Json) -> bool:
    return block.get("type") in ("server_tool_use", "mcp_tool_use")


def _is_our_call(one: Json) -> bool:
    return one.get("type") in _OUR_CALLS or "functionCall" in one


def _first_of(said: Json, name: str) -> Iterator[Json]:
    found = said.get(name)
    if isinstance(found, list) and found and isinstance(found[0], dict):
        yield found[0]
