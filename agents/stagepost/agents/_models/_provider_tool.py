"""Tools of providers: declared to them, executed by them, and never called here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json

from stagepost._dataclasses import dataclass
from stagepost.hub import check_name

from ..errors import InvalidTool

Declaration: TypeAlias = Mapping[str, JsonValue]
"""What one provider's API takes among its tools."""


@dataclass(frozen=True, slots=True)
class ProviderTool:
    """A tool of providers, such as web search; made by `provider_tool`.

    Attributes:
        name: Its name here, for errors.
        declarations: How each provider is told that its model may use it, by litellm's name of the provider.
    """

    name: str
    declarations: Mapping[str, Declaration]


def provider_tool(name: str, declarations: Mapping[str, Declaration]) -> ProviderTool:
    """Make a tool that the provider of a model executes itself, for ``Agent(tools=[…])``.

    ::

        web = provider_tool("web_search", {
            "anthropic": {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
            "openai": {"type": "web_search"},            # for models that are asked as "openai/responses/…"
            "gemini": {"google_search": {}},
        })

    Declarations are passed on as they are. What the provider returns for its tools is kept with the answer
    (`AssistantMessage.provider`) and goes back to this provider only. Nothing is called here, so approvals, hooks of
    tools and ``Budget(tool_calls=…)`` do not apply; the provider's own limits do. A model of a provider without a
    declaration is not asked: the run fails with `UnsupportedTool` before its first turn.

    Args:
        name: Its name here, for errors.
        declarations: By litellm's name of the provider, such as ``"anthropic"``, what its API takes among its tools.

    Raises:
        InvalidTool: There is no declaration, or one is not a JSON object.
        InvalidName: The name contains characters that are not allowed.
    """
    check_name("tool name", name)
    if not _is_object(declarations):
        raise InvalidTool(name, 'it has no declarations: give them by provider, {"anthropic": {…}}')
    kept: dict[str, Declaration] = {}
    for provider, declaration in declarations.items():
        if not _is_object(declaration):
            raise InvalidTool(name, f"its declaration for {provider!r} is not a JSON object: {declaration!r:.80}")
        try:
            kept[provider] = from_json(to_json(dict(declaration)))
        except PydanticSerializationError as error:
            raise InvalidTool(name, f"its declaration for {provider!r} is not JSON: {error}") from None
    return ProviderTool(name, kept)


def _is_object(given: object) -> bool:
    return isinstance(given, Mapping) and bool(given)


def declared(tools: Iterable[ProviderTool], provider: str) -> Sequence[dict[str, JsonValue]]:
    """What a provider is told of its tools, as far as there are declarations for it."""
    return [dict(tool.declarations[provider]) for tool in tools if provider in tool.declarations]
