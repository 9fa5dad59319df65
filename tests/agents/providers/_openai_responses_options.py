"""What OpenAI's responses refuse of tools, tool choices, text formats and settings."""

import re
from collections.abc import Callable
from typing import Any, Final

from tests.agents.providers._chat_rules import NAME, check_text
from tests.agents.providers._openai_responses_wire import items, text
from tests.agents.providers._openai_schemas import Schema, incomplete, not_strict, wrong_root
from tests.agents.providers._rules import Json, Refused, Request, Rule

_REASONING: Final = re.compile(r"(o\d|gpt-5|gpt-6)(?!.*chat)")
_LEAST_TOKENS: Final = 16


def tool_names_fit(request: Request) -> None:
    """The name of a tool has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://platform.openai.com/docs/api-reference/responses/create (`tools`); as for chat completions.
    """
    for index, tool in enumerate(_tools(request)):
        check_text(tool.get("name"), f"tools[{index}].name", most=64, pattern=NAME)


def parameters_are_one_object(request: Request) -> None:
    """The root of a tool's parameters has the type object, and no oneOf, anyOf, allOf, enum or not.

    Source: https://github.com/langchain-ai/langchainjs/issues/9804.
    """
    _check_parameters(request, wrong_root)


def parameters_are_complete(request: Request) -> None:
    """The root of a tool's parameters has properties, may they be empty; each array says what its items are.

    Source: https://github.com/everruns/everruns/pull/984,
    https://github.com/streamnative/streamnative-mcp-server/issues/26.
    """
    _check_parameters(request, incomplete)


def strict_parameters_are_closed(request: Request) -> None:
    """With ``strict: true`` each object is closed and requires all, as for chat completions.

    Without ``strict`` the API makes the schema strict by itself where it can, and optional parameters become required;
    only ``strict: false`` leaves it as it is. That is no refusal.

    Source: https://developers.openai.com/api/docs/guides/function-calling#strict-mode,
    https://github.com/vercel/ai/pull/15889.
    """
    _check_parameters(request, not_strict, strict=True)


def _tools(request: Request) -> list[Json]:
    return [tool for tool in request.body.get("tools") or () if tool.get("type") == "function"]


def _check_parameters(request: Request, complaint: Callable[[Schema], str | None], *, strict: bool = False) -> None:
    """Hold the parameters of all tools, or of the strict ones, against what may be complained of."""
    for index, tool in enumerate(_tools(request)):
        if tool.get("parameters") is None or (strict and not tool.get("strict")):
            continue
        told = complaint(tool["parameters"])
        if told is not None:
            message = f"Invalid schema for function '{tool['name']}': {told}"
            raise Refused(message, code="invalid_function_parameters", param=f"tools[{index}].parameters")


def chosen_tool_is_there(request: Request) -> None:
    """``tool_choice: "required"`` comes only with tools, and a choice by name is one of them.

    Source: https://platform.openai.com/docs/api-reference/responses/create (`tool_choice`).
    """
    choice: Any = request.body.get("tool_choice")
    names = [tool["name"] for tool in _tools(request)]
    if choice == "required" and not names:
        raise Refused("Tool choice 'required' must be specified with 'tools' parameter.", param="tool_choice")
    if isinstance(choice, dict) and choice.get("name") not in names:
        raise Refused("Tool choice 'function' not found in 'tools' parameter.", param="tool_choice")


def answers_name_fits(request: Request) -> None:
    """The name of a ``json_schema`` text format has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://platform.openai.com/docs/api-reference/responses/create (`text.format`); as for chat completions.
    """
    asked = _format(request)
    if asked.get("type") == "json_schema":
        check_text(asked.get("name"), "text.format.name", most=64, pattern=NAME)


def answers_schema_is_one_object(request: Request) -> None:
    """The root of an answer's schema has the type object, also without ``strict``; with it, the rules of strict hold.

    Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas,
    https://github.com/camunda/connectors/pull/8358.
    """
    asked = _format(request)
    if asked.get("type") != "json_schema":
        return
    schema = asked.get("schema") or {}
    told = wrong_root(schema) or (not_strict(schema) if asked.get("strict") else None)
    if told is not None:
        message = f"Invalid schema for response_format '{asked['name']}': {told}"
        raise Refused(message, code="invalid_json_schema", param="text.format.schema")


def json_mode_is_named(request: Request) -> None:
    """With the text format ``json_object`` some message of the input has the word JSON.

    Source: https://platform.openai.com/docs/guides/structured-outputs#json-mode.
    """
    if _format(request).get("type") == "json_object":
        said = " ".join(text(item) for item in items(request))
        if "json" not in said.lower():
            told = "Response input messages must contain the word 'json' in some form to use 'text.format' of type"
            raise Refused(f"{told} 'json_object'.", param="input")


def _format(request: Request) -> Json:
    return (request.body.get("text") or {}).get("format") or {}


def answers_are_given_room(request: Request) -> None:
    """``max_output_tokens`` is at least 16.

    Source: https://github.com/earendil-works/pi/issues/6265.
    """
    most = request.body.get("max_output_tokens")
    if most is not None and most < _LEAST_TOKENS:
        told = f"integer below minimum value. Expected a value >= {_LEAST_TOKENS}, but got {most} instead."
        raise Refused(f"Invalid 'max_output_tokens': {told}", code="integer_below_min_value", param="max_output_tokens")


def reasoning_models_take_no_temperature(request: Request) -> None:
    """Models that reason take no ``temperature`` and no ``top_p``.

    Source: https://github.com/getzep/graphiti/issues/874.
    """
    if _reasons(request):
        for key in ("temperature", "top_p"):
            if key in request.body:
                told = f"Unsupported parameter: '{key}' is not supported with this model."
                raise Refused(told, code="unsupported_parameter", param=key)


def only_reasoning_models_are_asked_to_reason(request: Request) -> None:
    """Models that do not reason take no ``reasoning.effort`` and give no encrypted reasoning.

    Source: https://github.com/OpenHands/software-agent-sdk/pull/1208 ("Encrypted content is not supported with this
    model").
    """
    if _reasons(request):
        return
    if (request.body.get("reasoning") or {}).get("effort") is not None:
        told = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
        raise Refused(told, code="unsupported_parameter", param="reasoning.effort")
    if "reasoning.encrypted_content" in (request.body.get("include") or ()):
        raise Refused("Encrypted content is not supported with this model.", param="include")


def _reasons(request: Request) -> bool:
    return _REASONING.match(str(request.body.get("model"))) is not None


RULES: Final[tuple[Rule, ...]] = (
    tool_names_fit,
    parameters_are_one_object,
    parameters_are_complete,
    strict_parameters_are_closed,
    chosen_tool_is_there,
    answers_name_fits,
    answers_schema_is_one_object,
    json_mode_is_named,
    answers_are_given_room,
    reasoning_models_take_no_temperature,
    only_reasoning_models_are_asked_to_reason,
)
