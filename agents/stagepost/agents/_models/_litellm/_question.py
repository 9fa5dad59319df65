"""All that litellm is told for one question."""

from typing import Any, Final

from .._model import ModelRequest
from ._asking import told
from ._caching import marked, needs_marks
from ._provider import Provider
from ._provider_tools import with_provider_tools
from ._served import is_mark
from ._wording import worded

Json = dict[str, Any]

_THINKING: Final = ("reasoning_effort", "thinking")
_SIGNING: Final = frozenset({"anthropic", "bedrock"})
_NO_TOOL: Final[Json] = {
    "type": "function",
    "function": {
        "name": "no_tools_left",
        "description": "There are no tools any more. Do not call this: answer in words.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def question(request: ModelRequest, provider: Provider, *, native_schema: bool) -> Json:
    """Messages, tools, the form of the answer and the settings, as a provider wants them.

    Args:
        request: The request; its settings are all that there are.
        provider: Who is asked.
        native_schema: Whether the provider knows to make a model keep to a schema.
    """
    body = worded(request, provider, native_schema=native_schema)
    if provider.api == "bedrock" and not request.tools and _has_calls(body):
        body["tools"] = [_NO_TOOL]  # or litellm tells the earlier calls as text, and drops the thinking before them
    if request.settings.cache and needs_marks(provider):
        body = marked(body)
    asked = with_provider_tools({**body, **told(request.settings, with_tools=bool(request.tools))}, request, provider)
    if provider.api == "anthropic" and not request.tools and _has_calls(body):
        asked["tool_choice"] = "none"  # litellm offers a tool of its own, since Claude wants one beside earlier calls
    return (
        _without_thinking(asked) if provider.api in _SIGNING and provider.is_claude and _lost_thinking(asked) else asked
    )


def _has_calls(asked: Json) -> bool:
    return any("tool_calls" in message for message in asked["messages"])


def without_items(asked: Json) -> Json:
    """The same without items of reasoning, for an API that does not take them."""
    messages = [{key: value for key, value in one.items() if key != "reasoning_items"} for one in asked["messages"]]
    return {**asked, "messages": messages}


def has_items(asked: Json) -> bool:
    """Whether there are items of reasoning."""
    return any("reasoning_items" in message for message in asked["messages"])


def _lost_thinking(asked: Json) -> bool:
    """Whether Claude is to think on after calls whose thinking is not there: another model has made them."""
    answers = [message for message in asked["messages"] if message["role"] == "assistant"]
    wants = any(name in asked for name in _THINKING)
    if not wants or not answers or is_mark(answers[-1].get("content")):  # what a mark stands for has its thinking
        return False
    return "tool_calls" in answers[-1] and "thinking_blocks" not in answers[-1]


def _without_thinking(asked: Json) -> Json:
    """The same without thinking, for this once: it is refused where it does not stand before the calls, too."""
    messages = [{key: value for key, value in one.items() if key != "thinking_blocks"} for one in asked["messages"]]
    return {**{key: value for key, value in asked.items() if key not in _THINKING}, "messages": messages}
