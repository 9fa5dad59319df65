"""Tools of the provider itself: whether it takes them, and how it is told."""

from collections.abc import Sequence
from typing import Any

from ...errors import UnsupportedTool
from .._model import ModelRequest
from .._provider_tool import ProviderTool, declared
from ._provider import Provider

Json = dict[str, Any]


def with_provider_tools(asked: Json, request: ModelRequest, provider: Provider) -> Json:
    """What litellm is told, with the tools of the provider."""
    if not request.provider_tools:
        return asked
    made = {**asked, "tools": [*asked.get("tools", ()), *declared(request.provider_tools, provider.name)]}
    if provider.api == "gemini" and asked.get("tools"):
        made["include_server_side_tool_invocations"] = True  # or litellm leaves its tools out beside functions
    return made


def refuse_tools(request: ModelRequest, provider: Provider, *, speaks_in_items: bool) -> None:
    """Check that a provider takes its tools, as far as that is known without asking it.

    Args:
        request: The request.
        provider: Who is asked.
        speaks_in_items: Whether it is asked through OpenAI's responses API.

    Raises:
        UnsupportedTool: It does not.
    """
    for tool in request.provider_tools:
        why = _why_not(tool, request.tools, provider, speaks_in_items=speaks_in_items)
        if why is not None:
            raise UnsupportedTool(provider.model, tool.name, why)


def _why_not(
    tool: ProviderTool, functions: Sequence[object], provider: Provider, *, speaks_in_items: bool
) -> str | None:
    if provider.name not in tool.declarations:
        there = ", ".join(tool.declarations)
        return f"it has no declaration for provider {provider.name!r}, only for {there}: add one, or ask another model"
    if provider.name in ("openai", "azure") and not speaks_in_items:
        return f'chat completions take no tools of the provider: ask the model as "{_in_items(provider)}"'
    if provider.api == "gemini" and functions and (provider.name != "gemini" or not provider.tells_calls_apart):
        return (
            "this model takes its provider's tools only without other tools: ask a Gemini from version 3 on through "
            'Google\'s own API ("gemini/…"), or give the agent no other tools (with output_mode="prompted", if it has '
            "output=)"
        )
    return None


def _in_items(provider: Provider) -> str:
    model = provider.model.removeprefix(f"{provider.name}/")
    return f"{provider.name}/responses/{model}"
