"""Marks on what does not change from turn to turn, for providers that cache only what is marked."""

from collections.abc import Sequence
from typing import Any, Final

from ._provider import Provider

Json = dict[str, Any]

_MARK: Final = {"cache_control": {"type": "ephemeral"}}
_MARKING: Final = frozenset({"anthropic", "bedrock"})  # Gemini's marks make a cache that costs, for minutes


def needs_marks(provider: Provider) -> bool:
    """Whether a provider caches only what is marked. OpenAI, DeepSeek and Gemini do so by themselves."""
    return provider.api in _MARKING or (provider.name == "openrouter" and provider.is_claude)


def marked(body: Json) -> Json:
    """A request with four marks at most: on the tools, on the prompt, and where this turn and the one before ended."""
    messages = list(body["messages"])
    for index in _ends(messages):
        messages[index] = _with_mark(messages[index])
    made = {**body, "messages": messages}
    if body.get("tools"):
        made["tools"] = [*body["tools"][:-1], {**body["tools"][-1], **_MARK}]
    return made


def _ends(messages: Sequence[Json]) -> Sequence[int]:
    """Where the prompt ends, and the last two of what was told between answers."""
    prompt = [0] if messages and messages[0]["role"] == "system" else []
    told = [index for index, message in enumerate(messages) if message["role"] in ("tool", "user")]
    last = [index for index in told if index + 1 == len(messages) or messages[index + 1]["role"] == "assistant"]
    return [*prompt, *last[-2:]]


def _with_mark(message: Json) -> Json:
    """A message whose last piece is marked; a result of a tool is marked as a whole."""
    content = message["content"]
    if message["role"] == "tool":
        return {**message, **_MARK}
    pieces = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return {**message, "content": [*pieces[:-1], {**pieces[-1], **_MARK}]}
