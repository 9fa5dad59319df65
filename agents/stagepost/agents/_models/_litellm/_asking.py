"""Settings, as litellm wants to be told them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...errors import InvalidModel
from .._settings import ModelSettings

Json = dict[str, Any]

_OWN: Final = frozenset({  # what LiteLLM sets itself, or what would bring back what it does itself
    "api_base",
    "api_key",
    "base_url",
    "callbacks",
    "context_window_fallback_dict",
    "fallbacks",
    "max_retries",
    "messages",
    "model",
    "n",
    "num_retries",
    "request_timeout",
    "stream",
    "stream_options",
    "timeout",
    "tools",
})  # fmt: skip
_NAMED: Final = (
    "temperature",
    "max_tokens",
    "seed",
    "stop",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning_effort",
)
_PLAIN: Final = (str, int, float)  # what is not, such as a function in tool_choice, stays in the provider's words
_ABOUT_TOOLS: Final = frozenset({"parallel_tool_calls", "tool_choice"})
_CHOICES: Final = frozenset({"auto", "none", "required"})


def told(settings: ModelSettings, *, with_tools: bool) -> Json:
    """What the provider is told.

    Args:
        settings: The settings.
        with_tools: Whether there are tools: without any, providers refuse what is about them.
    """
    names = [name for name in _NAMED if with_tools or name not in _ABOUT_TOOLS]
    said = {name: value for name in names if (value := getattr(settings, name)) is not None}
    if "stop" in said:
        said["stop"] = list(said["stop"])
    if said.get("tool_choice", "auto") not in _CHOICES:
        said["tool_choice"] = {"type": "function", "function": {"name": said["tool_choice"]}}
    extra = {name: value for name, value in settings.extra.items() if with_tools or name not in _ABOUT_TOOLS}
    return {**said, **extra}


def folded(model: str, settings: ModelSettings, options: Mapping[str, Any] | None = None) -> ModelSettings:
    """The settings, with what has a name among them under its name, however it was given.

    Args:
        model: The model.
        settings: The settings.
        options: More in the provider's words.

    Raises:
        InvalidModel: One is given twice, or is not for settings.
    """
    if not options and not settings.extra:
        return settings
    extra = {**settings.extra, **(options or {})}
    own = sorted(_OWN & extra.keys())
    if own:
        where = "options" if own[0] in (options or {}) else "extra"
        raise InvalidModel(model, f"{where}={{{own[0]!r}: …}} is not for {where}: LiteLLM sets it itself")
    known = {name: extra.pop(name) for name in _NAMED if isinstance(extra.get(name), _PLAIN)}
    twice = [name for name in known if getattr(settings, name) is not None]
    if twice:
        raise InvalidModel(model, f"{twice[0]} is given twice: give it as ModelSettings({twice[0]}=…) only")
    if isinstance(known.get("stop"), str):
        known["stop"] = (known["stop"],)
    return replace(settings, **known, extra=extra)


def named(text: str) -> str | None:
    """Which setting an error text of litellm's is about, if it is about one."""
    return next((name for name in _NAMED if f"'{name}'" in text or f"{name}=" in text), None)
