"""Rules of Gemini's generateContent on functions and the configuration."""

import re
from collections.abc import Sequence
from typing import Final

from tests.agents.providers._gemini_wire import functions, normal, signs
from tests.agents.providers._rules import Refused, Request, Rule

_NAME: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_MOST: Final = 128
_BUDGETS: Final = {"flash-lite": (512, 24576), "flash": (0, 24576), "pro": (128, 32768)}  # of Gemini 2.5
_FUNCTION: Final = frozenset({
    "name",
    "description",
    "behavior",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
})  # fmt: skip
_REQUEST: Final = frozenset({
    "cachedContent",
    "contents",
    "generationConfig",
    "safetySettings",
    "systemInstruction",
    "toolConfig",
    "tools",
})  # fmt: skip


def known_settings(request: Request) -> None:
    """A request and its functions have no fields but their own.

    Source: https://ai.google.dev/api/generate-content (request body), https://ai.google.dev/api/caching#FunctionDeclaration
    """
    for field in sorted(normal(request).keys() - _REQUEST):
        raise Refused(f'Invalid JSON payload received. Unknown name "{field}": Cannot find field.')
    for where, function in functions(request):
        for field in sorted(function.keys() - _FUNCTION):
            raise Refused(f"Invalid JSON payload received. Unknown name \"{field}\" at '{where}': Cannot find field.")


def function_names(request: Request) -> None:
    """A function's name begins with a letter or underscore, and has at most 64 letters, digits and ``_.:-``.

    Source: https://github.com/kaitranntt/ccs/issues/25, https://github.com/maximhq/bifrost/issues/1979
    """
    for where, function in functions(request):
        if _NAME.fullmatch(function["name"]) is None:
            raise Refused(
                f"* GenerateContentRequest.{where}.name: Invalid function name. Must start with a letter or an "
                "underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), "
                "with a maximum length of 64."
            )


def unique_functions(request: Request) -> None:
    """Names of functions are unique.

    Source: https://github.com/rikkahub/rikkahub/issues/1311, https://github.com/router-for-me/CLIProxyAPI/issues/4244
    """
    names = [function["name"] for _, function in functions(request)]
    for name in names:
        if names.count(name) > 1:
            raise Refused(f"Duplicate function declaration found: {name}")


def not_too_many_functions(request: Request) -> None:
    """There are at most 128 functions.

    Source: https://github.com/ai-dashboad/flutter-skill/issues/32
    """
    if len(functions(request)) > _MOST:
        raise Refused(f"The number of function declarations must not exceed {_MOST}")


def one_form_of_parameters(request: Request) -> None:
    """The parameters of a function are given as ``parameters`` or as ``parametersJsonSchema``, not as both.

    Source: https://ai.google.dev/api/caching#FunctionDeclaration (mutually exclusive)
    """
    for where, function in functions(request):
        if {"parameters", "parametersJsonSchema"} <= function.keys():
            raise Refused(
                f"* GenerateContentRequest.{where}: parameters and parameters_json_schema are mutually exclusive"
            )


def functions_or_json(request: Request) -> None:
    """Before Gemini 3 an answer in JSON is not asked for beside functions.

    Source: https://github.com/googleapis/python-genai/issues/867, https://github.com/symfony/ai/issues/1777
    """
    config = normal(request).get("generationConfig") or {}
    if functions(request) and config.get("responseMimeType") == "application/json" and not signs(request):
        raise Refused("Function calling with a response mime type: 'application/json' is unsupported")


def choice_among_functions(request: Request) -> None:
    """A configuration of function calling comes with functions; it names some of them, and only in mode ``ANY``.

    Source: https://github.com/AstrBotDevs/AstrBot/pull/7407, https://ai.google.dev/api/caching#FunctionCallingConfig
    """
    config = (normal(request).get("toolConfig") or {}).get("functionCallingConfig")
    if config is None:
        return
    if not functions(request):
        raise Refused("Function calling config is set without function_declarations.")
    allowed = config.get("allowedFunctionNames") or ()
    if allowed and config.get("mode") not in ("ANY", "VALIDATED"):
        raise Refused("allowed_function_names should be set only when the function calling mode is ANY")
    for name in allowed:
        if name not in {function["name"] for _, function in functions(request)}:
            raise Refused(f"Allowed function name {name} is not among the function declarations")


def thinking(request: Request) -> None:
    """Thinking has a level (from Gemini 3 on) or a budget, not both.

    Source: https://ai.google.dev/gemini-api/docs/thinking (levels and budgets),
    https://github.com/juspay/neurolink/pull/1707
    """
    config = (normal(request).get("generationConfig") or {}).get("thinkingConfig") or {}
    if {"thinkingLevel", "thinkingBudget"} <= config.keys():
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if "thinkingLevel" in config and not signs(request):
        raise Refused("Thinking level is not supported for this model.")


def thinking_budget(request: Request) -> None:
    """A budget of thinking is within the model's limits, or -1, or 0 for models that need not think.

    Source: https://ai.google.dev/gemini-api/docs/thinking#set-budget, https://github.com/lobehub/lobehub/pull/8122
    """
    budget = ((normal(request).get("generationConfig") or {}).get("thinkingConfig") or {}).get("thinkingBudget", -1)
    least, most = next((limits for name, limits in _BUDGETS.items() if name in request.path), (0, 32768))
    off = budget == 0 and "flash" in request.path
    if budget != -1 and not off and not least <= budget <= most:
        raise Refused(f"The thinking budget {budget} is invalid. Please choose a value between {least} and {most}.")


def temperature(request: Request) -> None:
    """The temperature is from 0 to 2.

    Source: https://ai.google.dev/api/generate-content#GenerationConfig (temperature)
    """
    given = (normal(request).get("generationConfig") or {}).get("temperature")
    if given is not None and not 0 <= given <= 2:
        raise Refused("* GenerateContentRequest.generation_config.temperature: must be in the range [0.0, 2.0]")


SETTINGS: Final[Sequence[Rule]] = (
    known_settings,
    function_names,
    unique_functions,
    not_too_many_functions,
    one_form_of_parameters,
    functions_or_json,
    choice_among_functions,
    thinking,
    thinking_budget,
    temperature,
)
"""The rules, in the order in which they are checked."""
