"""What OpenAI's responses refuse."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.agents.providers._chat_rules import IMAGES, NAME, check_text, data_url
from tests.agents.providers._openai_responses_wire import decrypted, follows_reasoning, items, parts, text
from tests.agents.providers._openai_schemas import Schema, incomplete, not_strict, wrong_root
from tests.agents.providers._rules import Json, Refused, Request, Rule

_TYPES: Final = ("message", "function_call", "function_call_output", "reasoning")
_ROLES: Final = ("system", "developer", "user", "assistant")
_SHOWN: Final = (None, "input_text", "input_image", "input_file")
_SAID: Final = (None, "output_text", "refusal")
_PREFIXES: Final = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_REASONING: Final = re.compile(r"(o\d|gpt-5|gpt-6)(?!.*chat)")
_LEAST_TOKENS: Final = 16


def input_is_there(request: Request) -> None:
    """The input has at least one item, each of a known type; messages have a known role.

    Source: https://platform.openai.com/docs/api-reference/responses/create (`input`).
    """
    if not items(request):
        told = "Invalid 'input': empty array. Expected an array with minimum length 1."
        raise Refused(told, code="empty_array", param="input")
    for index, item in enumerate(items(request)):
        kind = item.get("type")
        if kind not in _TYPES or (kind == "message" and item.get("role") not in _ROLES):
            raise Refused(f"Invalid value: '{item.get('role', kind)}'.", code="invalid_value", param=f"input[{index}]")


def parts_are_the_roles_own(request: Request) -> None:
    """Messages of the assistant hold ``output_text`` and ``refusal``, all others and results ``input_…`` parts.

    Source: https://github.com/tinyhumansai/openhuman/issues/3624, https://github.com/jeremychone/rust-genai/pull/119.
    """
    for index, item in enumerate(items(request)):
        known = _SAID if item.get("role") == "assistant" else _SHOWN
        for place, part in enumerate([*parts(item), *parts(item, "output")]):
            if part.get("type") not in known:
                told = f"Invalid value: '{part.get('type')}'. Supported values are: {known[1:]}."
                raise Refused(told, code="invalid_value", param=f"input[{index}].content[{place}]")


def item_ids_are_of_their_type(request: Request) -> None:
    """The id of an item, where it has one, is ``fc_…`` of a call, ``rs_…`` of reasoning, ``msg_…`` of a message.

    Source: https://github.com/nodetool-ai/nodetool/pull/4252, https://github.com/stacklok/mecatl/issues/406 (empty).
    """
    for index, item in enumerate(items(request)):
        prefix = _PREFIXES.get(item["type"])
        if prefix is not None and "id" in item and not str(item["id"]).startswith(f"{prefix}_"):
            told = f"Invalid 'input[{index}].id': '{item['id']}'. Expected an ID that begins with '{prefix}'."
            raise Refused(told, code="invalid_value", param=f"input[{index}].id")


def items_stand_once(request: Request) -> None:
    """No two items have the same id, and no two calls the same ``call_id``.

    Source: https://github.com/NousResearch/hermes-agent/pull/7946, https://github.com/vercel/ai/issues/13307.
    """
    seen: set[str] = set()
    for item in items(request):
        own = [item.get("id"), item.get("call_id") if item["type"] == "function_call" else None]
        for each in own:
            if each in seen:
                told = f"Duplicate item found with id {each}. Remove duplicate items from your input and try again."
                raise Refused(told, param="input")
            seen.update([each] if each else [])


def call_ids_are_short(request: Request) -> None:
    """The ``call_id`` of a call has 1 to 64 characters.

    Source: https://github.com/RooCodeInc/Roo-Code/pull/10763, https://github.com/decolua/9router/issues/393.
    """
    for index, item in enumerate(items(request)):
        if item["type"] in ("function_call", "function_call_output"):
            check_text(item.get("call_id"), f"input[{index}].call_id", most=64)


def called_names_fit(request: Request) -> None:
    """The name of a call in the input has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://platform.openai.com/docs/api-reference/responses/create; as for chat completions.
    """
    for index, item in enumerate(items(request)):
        if item["type"] == "function_call":
            check_text(item.get("name"), f"input[{index}].name", most=64, pattern=NAME)


def calls_and_outputs_match(request: Request) -> None:
    """Each call has one output after it, and each output its call before it.

    Source: https://github.com/openai/codex/issues/93 (no output), https://github.com/microsoft/vscode/issues/320060
    (no call).
    """
    open_: list[str] = []
    for item in items(request):
        if item["type"] == "function_call":
            open_.append(item["call_id"])
        elif item["type"] == "function_call_output":
            if item["call_id"] not in open_:
                told = f"No tool call found for function call output with call_id {item['call_id']}."
                raise Refused(told, param="input")
            open_.remove(item["call_id"])
    if open_:
        raise Refused(f"No tool output found for function call {open_[0]}.", param="input")


def reasoning_stands_before_its_call(request: Request) -> None:
    """A call that was made after reasoning comes back with its reasoning item before it.

    The API looks at the item's id; here also a call that has only its ``call_id`` is refused without its reasoning,
    whose loss would only make the answers worse. In 2026-09 some models took such calls.

    Source: https://github.com/omnigent-ai/omnigent/issues/5066,
    https://cookbook.openai.com/examples/responses_api/reasoning_items; https://github.com/jin-bo/agentao/pull/321
    (taken).
    """
    reasoned = False
    for item in items(request):
        if item["type"] == "reasoning":
            reasoned = True
        elif item["type"] == "function_call_output" or item.get("role") == "user":
            reasoned = False
        elif item["type"] == "function_call" and follows_reasoning(item) and not reasoned:
            own = item.get("id") or item["call_id"]
            told = f"Item '{own}' of type 'function_call' was provided without its required 'reasoning' item."
            raise Refused(told, param="input")


def reasoning_is_followed(request: Request) -> None:
    """A reasoning item is followed by what came of it: more reasoning, a call or a message of the assistant.

    Source: https://github.com/continuedev/continue/issues/8933.
    """
    given = items(request)
    for item, then in zip(given, [*given[1:], None], strict=True):
        if item["type"] != "reasoning":
            continue
        if then is None or not (then["type"] in ("reasoning", "function_call") or then.get("role") == "assistant"):
            own = item.get("id", "")
            told = f"Item '{own}' of type 'reasoning' was provided without its required following item."
            raise Refused(told, param="input")


def encrypted_reasoning_is_unchanged(request: Request) -> None:
    """The ``encrypted_content`` of a reasoning item is what the same provider has made.

    Source: https://github.com/openai/codex/issues/8145 (invalid_encrypted_content).
    """
    for item in _reasonings(request):
        content = item.get("encrypted_content")
        if content is not None and decrypted(content) is None:
            told = f"The encrypted content for item {item.get('id')} could not be verified."
            raise Refused(told, code="invalid_encrypted_content")


def unstored_reasoning_is_complete(request: Request) -> None:
    """With ``store: false`` a reasoning item comes back with its ``encrypted_content``: the id alone is not known.

    Source: https://github.com/openai/openai-agents-js/issues/546,
    https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items.
    """
    if request.body.get("store") is not False:
        return
    for item in _reasonings(request):
        if not item.get("encrypted_content"):
            told = f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false."
            raise Refused(told, param="input", status=404)


def _reasonings(request: Request) -> Iterator[Json]:
    return (item for item in items(request) if item["type"] == "reasoning")


def images_are_of_known_types(request: Request) -> None:
    """An image is PNG, JPEG, GIF or WebP, by an https address or as ``data:image/…;base64,…``; also in a result.

    Source: https://github.com/yuji-hatakeyama/opencode-gpt-imagegen/pull/82,
    https://platform.openai.com/docs/guides/images-vision.
    """
    for item in items(request):
        for part in [*parts(item), *parts(item, "output")]:
            if part.get("type") == "input_image":
                _check_image(part.get("image_url"))


def _check_image(url: object) -> None:
    if not isinstance(url, str):
        raise Refused("Invalid type for 'image_url': expected an image URL.", code="invalid_type")
    inline = data_url(url)
    if inline is None and not url.startswith(("https://", "http://")):
        raise Refused(f"Invalid image URL: '{url[:40]}'.", code="invalid_value")
    if inline is not None and (inline[0] not in IMAGES or not inline[1]):
        told = "The image data you provided does not represent a valid image. Supported: "
        raise Refused(f"{told}{list(IMAGES)}.", code="invalid_image_format")


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
    input_is_there,
    parts_are_the_roles_own,
    item_ids_are_of_their_type,
    call_ids_are_short,
    called_names_fit,
    items_stand_once,
    calls_and_outputs_match,
    encrypted_reasoning_is_unchanged,
    unstored_reasoning_is_complete,
    reasoning_stands_before_its_call,
    reasoning_is_followed,
    images_are_of_known_types,
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
