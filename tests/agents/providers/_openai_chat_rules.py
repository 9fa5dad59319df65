"""What OpenAI's chat completions refuse."""

import re
from collections.abc import Callable
from typing import Final

from tests.agents.providers._chat_rules import (
    IMAGES,
    NAME,
    all_calls,
    check_pairing,
    check_text,
    data_url,
    functions,
    messages,
    parts,
    twice,
)
from tests.agents.providers._chat_wire import text_of
from tests.agents.providers._openai_schemas import Schema, incomplete, not_strict, wrong_root
from tests.agents.providers._rules import Json, Refused, Request, Rule

_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_KEYS: Final = frozenset(
    {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "annotations", "function_call"}
)
_USERS: Final = ("text", "image_url", "input_audio", "file")
_REASONING: Final = re.compile(r"(o\d|gpt-5|gpt-6)(?!.*chat)")
_MOST_TOOLS: Final = 128


def messages_are_there(request: Request) -> None:
    """There is at least one message, each of a known role.

    Source: https://platform.openai.com/docs/api-reference/chat/create (`messages`).
    """
    if not messages(request):
        message = "Invalid 'messages': empty array. Expected an array with minimum length 1."
        raise Refused(message, code="empty_array", param="messages")
    for index, each in enumerate(messages(request)):
        if each.get("role") not in _ROLES:
            where = f"messages[{index}].role"
            raise Refused(f"Invalid value: '{each.get('role')}'.", code="invalid_value", param=where)


def messages_have_no_unknown_fields(request: Request) -> None:
    """A message has no field that is not OpenAI's, such as ``reasoning_content`` or ``thinking_blocks``.

    Kept strictly here: some such fields are ignored, others are refused as unknown.

    Source: https://platform.openai.com/docs/api-reference/chat/create (`messages`, one schema for each role);
    https://github.com/teabranch/open-responses-server/issues/41 (unknown_parameter).
    """
    for index, message in enumerate(messages(request)):
        unknown = sorted(message.keys() - _KEYS)
        if unknown:
            where = f"messages[{index}].{unknown[0]}"
            raise Refused(f"Unknown parameter: '{where}'.", code="unknown_parameter", param=where)


def content_is_there(request: Request) -> None:
    """A message has content; an answer with calls, or with a refusal, may have null.

    Source: https://github.com/run-llama/llama_index/pull/17921,
    https://platform.openai.com/docs/api-reference/chat/create (`content`, "required unless tool_calls").
    """
    for index, message in enumerate(messages(request)):
        if message.get("content") is None and not (message.get("tool_calls") or message.get("refusal")):
            told = "Invalid value for 'content': expected a string, got null."
            raise Refused(told, param=f"messages.[{index}].content")


def call_lists_are_not_empty(request: Request) -> None:
    """An answer without calls leaves ``tool_calls`` out rather than giving an empty array.

    Source: https://github.com/openai/openai-python/issues/2061.
    """
    for index, message in enumerate(messages(request)):
        if message.get("tool_calls") == []:
            where = f"messages[{index}].tool_calls"
            told = f"Invalid '{where}': empty array. Expected an array with minimum length 1."
            raise Refused(told, code="empty_array", param=where)


def call_ids_are_short(request: Request) -> None:
    """The id of a call has 1 to 40 characters.

    Since 2026 the API was also seen to take 64; the lower limit is kept here.

    Source: https://github.com/vercel/ai/issues/5171, https://github.com/jin-bo/agentao/pull/321 (64).
    """
    for where, call in all_calls(request):
        check_text(call.get("id"), f"{where}.id", most=40)


def called_names_fit(request: Request) -> None:
    """The name of a call in the history has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://github.com/mcp-use/mcp-use/issues/90 (`messages[9].tool_calls[0].function.name`).
    """
    for where, call in all_calls(request):
        check_text((call.get("function") or {}).get("name"), f"{where}.function.name", most=64, pattern=NAME)


def call_ids_are_distinct(request: Request) -> None:
    """The calls of one answer have ids of their own.

    Source: https://github.com/agno-agi/agno/issues/5116.
    """
    double = twice(request)
    if double is not None:
        raise Refused(f"Invalid parameter: Duplicate value for 'tool_call_id' of '{double}'.", param="messages")


def results_follow_their_calls(request: Request) -> None:
    """An answer with calls is followed at once by one result for each, and no result stands anywhere else.

    Source: https://github.com/RamiAwar/dataline/issues/172 (`messages.[14].role`),
    https://platform.openai.com/docs/guides/function-calling.
    """
    check_pairing(
        request,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: {}",
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    )


def only_users_show_images(request: Request) -> None:
    """Parts other than text stand in messages of users only: a tool's result is text.

    Source: https://github.com/OpenHands/OpenHands/issues/7700; https://github.com/openai/openai-openapi/issues/523
    (some models no longer refuse it, but do not see the image).
    """
    for index, message in enumerate(messages(request)):
        for part in parts(message):
            _check_part(part, str(message["role"]), index)


def _check_part(part: Json, role: str, index: int) -> None:
    kind = part.get("type")
    if role == "user" and kind in _USERS:
        return
    if kind == "text" or (role == "assistant" and kind == "refusal"):
        return
    if kind == "image_url":
        told = (
            f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', "
            f"but this message with role '{role}' contains an image URL."
        )
        raise Refused(told, code="invalid_value", param=f"messages[{index}]")
    raise Refused(f"Invalid value: '{kind}'.", code="invalid_value", param=f"messages[{index}].content")


def images_are_of_known_types(request: Request) -> None:
    """An image is PNG, JPEG, GIF or WebP, by an https address or as ``data:image/…;base64,…``.

    Source: https://github.com/STranslate/STranslate/issues/277 (invalid_image_format),
    https://platform.openai.com/docs/guides/images-vision.
    """
    for message in messages(request):
        for part in parts(message):
            if part.get("type") == "image_url":
                _check_image(str((part.get("image_url") or {}).get("url")))


def _check_image(url: str) -> None:
    inline = data_url(url)
    if inline is None and not url.startswith(("https://", "http://")):
        told = f"Invalid image URL: '{url[:40]}'. Expected a base64-encoded data URL with an image MIME type."
        raise Refused(told, code="invalid_base64", param="messages")
    if inline is not None and (inline[0] not in IMAGES or not inline[1]):
        told = "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
        raise Refused(f"{told}['png', 'jpeg', 'gif', 'webp'].", code="invalid_image_format")


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
    messages_are_there,
    messages_have_no_unknown_fields,
    content_is_there,
    call_lists_are_not_empty,
    call_ids_are_short,
    called_names_fit,
    call_ids_are_distinct,
    results_follow_their_calls,
    only_users_show_images,
    images_are_of_known_types,
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
