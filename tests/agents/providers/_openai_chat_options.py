"""What OpenAI's chat completions refuse of tools, tool choices, response formats and settings."""

import re
from collections.abc import Callable
from typing import Final

from tests.agents.providers._chat_rules import NAME, check_text, functions, messages
from tests.agents.providers._chat_wire import text_of
from tests.agents.providers._openai_schemas import Schema, incomplete, not_strict, wrong_root
from tests.agents.providers._rules import Json, Refused, Request, Rule

_REASONING: Final = re.compile(r"(o\d|gpt-5|gpt-6)(?!.*chat)")
_MOST_TOOLS: Final = 128


def tool_lists_are_not_empty(request: Request) -> None:
    """Without tools, ``tools`` is left out rather than an empty array; there are at most 128.

    Source: https://github.com/zed-industries/zed/issues/42393 (array_above_max_length),
    https://github.com/continuedev/continue/issues/3403 (empty array).
    """
    tools = request.body.get("tools")
    if tools == []:
        told = "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
        raise Refused(told, code="empty_array", param="tools")
    if tools is not None and len(tools) > _MOST_TOOLS:
        told = (
            f"Expected an array with maximum length {_MOST_TOOLS}, but got an array with length {len(tools)} instead."
        )
        raise Refused(f"Invalid 'tools': array too long. {told}", code="array_above_max_length", param="tools")


def tool_names_fit(request: Request) -> None:
    """The name of a tool has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://github.com/vercel/ai/issues/1972, https://platform.openai.com/docs/api-reference/chat/create.
    """
    for index, function in enumerate(functions(request)):
        check_text(function.get("name"), f"tools[{index}].function.name", most=64, pattern=NAME)


def tool_descriptions_are_short(request: Request) -> None:
    """The description of a tool has at most 1024 characters.

    Source: https://github.com/getsentry/sentry-mcp/issues/106.
    """
    for index, function in enumerate(functions(request)):
        if function.get("description"):
            check_text(function["description"], f"tools[{index}].function.description", most=1024)


def parameters_are_one_object(request: Request) -> None:
    """The root of a tool's parameters has the type object, and no oneOf, anyOf, allOf, enum or not; so no $ref alone.

    Source: https://github.com/nspady/google-calendar-mcp/issues/39,
    https://github.com/chatanywhere/GPT_API_free/issues/403.
    """
    _check_parameters(request, wrong_root)


def parameters_are_complete(request: Request) -> None:
    """The root of a tool's parameters has properties, may they be empty; each array says what its items are.

    Source: https://github.com/langchain-ai/langchain-mcp-adapters/issues/137 (properties),
    https://github.com/streamnative/streamnative-mcp-server/issues/26 (items).
    """
    _check_parameters(request, incomplete)


def strict_parameters_are_closed(request: Request) -> None:
    """With ``strict``: each object is closed and requires all, no allOf or not, $ref alone, 10 levels, 5000 properties.

    Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas,
    https://github.com/langchain-ai/langchain/pull/39306, https://github.com/docker/docker-agent/pull/4155.
    """
    _check_parameters(request, not_strict, strict=True)


def _check_parameters(request: Request, complaint: Callable[[Schema], str | None], *, strict: bool = False) -> None:
    """Hold the parameters of all functions, or of the strict ones, against what may be complained of."""
    for index, function in enumerate(functions(request)):
        if function.get("parameters") is None or (strict and not function.get("strict")):
            continue
        told = complaint(function["parameters"])
        if told is not None:
            message = f"Invalid schema for function '{function['name']}': {told}"
            raise Refused(message, code="invalid_function_parameters", param=f"tools[{index}].function.parameters")


def choice_needs_tools(request: Request) -> None:
    """``tool_choice`` and ``parallel_tool_calls`` come only with tools.

    Source: https://github.com/openai/swarm/issues/30,
    https://platform.openai.com/docs/api-reference/chat/create (`tool_choice`: "none is the default when no tools").
    """
    for key in ("tool_choice", "parallel_tool_calls"):
        if key in request.body and not request.body.get("tools"):
            told = f"Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
            raise Refused(told, param=key)


def chosen_tool_is_there(request: Request) -> None:
    """A ``tool_choice`` that names a function names one of the tools.

    Source: https://platform.openai.com/docs/api-reference/chat/create (`tool_choice`).
    """
    choice = request.body.get("tool_choice")
    if isinstance(choice, dict):
        wanted = (choice.get("function") or {}).get("name")
        if wanted not in [function.get("name") for function in functions(request)]:
            told = f"Invalid value for 'tool_choice': '{wanted}' was not found in 'tools'."
            raise Refused(told, param="tool_choice")


def answers_name_fits(request: Request) -> None:
    """The name of a ``json_schema`` response format has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://github.com/run-llama/llama_index/issues/20324 (generic pydantic models),
    https://platform.openai.com/docs/api-reference/chat/create (`response_format`).
    """
    asked = _json_schema(request)
    if asked is not None:
        check_text(asked.get("name"), "response_format.json_schema.name", most=64, pattern=NAME)


def answers_schema_is_one_object(request: Request) -> None:
    """The root of an answer's schema has the type object, also without ``strict``; with it, the rules of strict hold.

    Source: https://github.com/podly-pure-podcasts/podly_pure_podcasts/pull/89,
    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
    """
    asked = _json_schema(request)
    if asked is None:
        return
    schema = asked.get("schema") or {}
    told = wrong_root(schema) or (not_strict(schema) if asked.get("strict") else None)
    if told is not None:
        raise Refused(f"Invalid schema for response_format '{asked['name']}': {told}", param="response_format")


def _json_schema(request: Request) -> Json | None:
    asked = request.body.get("response_format") or {}
    found: Json | None = asked.get("json_schema") if asked.get("type") == "json_schema" else None
    return found


def json_mode_is_named(request: Request) -> None:
    """With the response format ``json_object`` some message has the word JSON.

    Source: https://platform.openai.com/docs/guides/structured-outputs#json-mode.
    """
    if (request.body.get("response_format") or {}).get("type") != "json_object":
        return
    if not any("json" in text_of(message.get("content")).lower() for message in messages(request)):
        told = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise Refused(told, param="messages")


def reasoning_models_have_their_own_settings(request: Request) -> None:
    """Models that reason take ``max_completion_tokens`` rather than ``max_tokens``, and no temperature but 1.

    Source: https://github.com/decolua/9router/issues/560, https://github.com/johny-b/llmcomp/issues/69.
    """
    if _REASONING.match(str(request.body.get("model"))) is None:
        return
    if "max_tokens" in request.body:
        told = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
        raise Refused(told, code="unsupported_parameter", param="max_tokens")
    if request.body.get("temperature", 1) != 1:
        told = "Unsupported value: 'temperature' does not support this value. Only the default (1) value is supported."
        raise Refused(told, code="unsupported_value", param="temperature")


RULES: Final[tuple[Rule, ...]] = (
    tool_lists_are_not_empty,
    tool_names_fit,
    tool_descriptions_are_short,
    parameters_are_one_object,
    parameters_are_complete,
    strict_parameters_are_closed,
    choice_needs_tools,
    chosen_tool_is_there,
    answers_name_fits,
    answers_schema_is_one_object,
    json_mode_is_named,
    reasoning_models_have_their_own_settings,
)
