"""What Mistral refuses."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from tests.agents.providers._chat_rules import IMAGES, all_calls, calls, data_url, functions, messages, parts
from tests.agents.providers._rules import Refused, Request, Rule

_FIELDS: Final = frozenset(
    {
        "frequency_penalty",
        "guardrails",
        "max_tokens",
        "messages",
        "metadata",
        "model",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_mode",
        "random_seed",
        "reasoning_effort",
        "response_format",
        "safe_prompt",
        "stop",
        "stream",
        "temperature",
        "tool_choice",
        "tools",
        "top_p",
    }
)
_OF_ROLES: Final[Mapping[str, frozenset[str]]] = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", "prefix"}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_OF_FUNCTIONS: Final = frozenset({"name", "description", "parameters", "strict"})
_AFTER: Final[Mapping[str, tuple[str, ...]]] = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool"),
}
_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ORDER: Final = "3230"  # Mistral's number for what is wrong with the order of messages


def _forbidden(*place: object) -> Refused:
    where = ", ".join(map(repr, ("body", *place)))
    told = f'{{"detail":[{{"type":"extra_forbidden","loc":[{where}],"msg":"Extra inputs are not permitted"}}]}}'
    return Refused(told, status=422)


def fields_are_known(request: Request) -> None:
    """The request has no field that is not Mistral's: no ``stream_options``, ``max_completion_tokens``, ``seed``.

    Source: https://github.com/openai/openai-agents-python/issues/442, https://github.com/avante-corp/avante.nvim/issues/2347
    (stream_options), https://github.com/editor-code-assistant/eca/issues/231 (max_completion_tokens),
    https://docs.mistral.ai/api/#tag/chat (random_seed).
    """
    unknown = sorted(request.body.keys() - _FIELDS)
    if unknown:
        raise _forbidden(unknown[0])


def messages_have_no_unknown_fields(request: Request) -> None:
    """Messages have the roles system, user, assistant and tool, and only the fields of their role.

    So neither ``reasoning_content`` nor ``thinking_blocks`` of an answer come back, nor a user's ``name``.

    Source: https://github.com/charmbracelet/crush/issues/1590, https://github.com/BerriAI/litellm/issues/30835,
    https://github.com/Gage-Technologies/mistral-go/pull/2 (name).
    """
    if not messages(request):
        raise Refused("Conversation must have at least one message", code=_ORDER)
    for index, message in enumerate(messages(request)):
        role = str(message.get("role"))
        if role not in _OF_ROLES:
            raise Refused(f"Input tag '{role}' found using 'role' does not match any of the expected tags", status=422)
        unknown = sorted(message.keys() - _OF_ROLES[role])
        if unknown:
            raise _forbidden("messages", index, role, unknown[0])


def functions_have_no_unknown_fields(request: Request) -> None:
    """A function has a name, a description, parameters and ``strict``, and nothing else.

    Source: https://github.com/mistralai/client-python/issues/91.
    """
    for index, function in enumerate(functions(request)):
        unknown = sorted(function.keys() - _OF_FUNCTIONS)
        if unknown:
            raise _forbidden("tools", index, "function", unknown[0])


def tool_lists_are_not_empty(request: Request) -> None:
    """Without tools, ``tools`` is left out rather than an empty array.

    Source: https://github.com/partITech/php-mistral/issues/76.
    """
    if request.body.get("tools") == []:
        raise _forbidden("tools")


def roles_follow_each_other(request: Request) -> None:
    """After a result comes a result or an answer, never a user; after a user or a system message no result.

    Source: https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py,
    https://github.com/datapizza-labs/datapizza-ai/issues/98 ("Unexpected role 'user' after role 'tool'").
    """
    given = [str(message["role"]) for message in messages(request)]
    for before, role in pairwise(given):
        if role not in _AFTER[before]:
            raise Refused(f"Unexpected role '{role}' after role '{before}'", code=_ORDER)


def last_message_is_a_users_or_a_result(request: Request) -> None:
    """The last message is a user's or a result, or an answer with ``prefix``.

    Source: https://github.com/0xPlaygrounds/rig/pull/1130,
    https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py.
    """
    last = messages(request)[-1]
    if last["role"] == "assistant" and not last.get("prefix"):
        told = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        raise Refused(told, code=_ORDER)


def answers_say_something(request: Request) -> None:
    """An answer has content or calls; an empty text is no content.

    Source: https://github.com/OpenHands/OpenHands/issues/8685, https://github.com/solbrowse/extension/issues/16.
    """
    for message in messages(request):
        if message["role"] == "assistant" and not message.get("content") and not calls(message):
            raise Refused("Assistant message must have either content or tool_calls, but not none.", code="3240")


def call_ids_have_nine_characters(request: Request) -> None:
    """The id of a call, and of its result, has exactly nine of the characters a-z, A-Z, 0-9.

    Source: https://github.com/nearai/ironclaw/issues/1241, https://github.com/anomalyco/opencode/issues/1680.
    """
    results = [str(message.get("tool_call_id")) for message in messages(request) if message["role"] == "tool"]
    for id_ in [*(str(call.get("id")) for _, call in all_calls(request)), *results]:
        if _ID.fullmatch(id_) is None:
            told = f"Tool call id was {id_} but must be a-z, A-Z, 0-9, with a length of 9."
            raise Refused(told, code="3280")


def called_names_fit(request: Request) -> None:
    """The name of a call in the history has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py.
    """
    for _, call in all_calls(request):
        _check_name(str((call.get("function") or {}).get("name")))


def tool_names_fit(request: Request) -> None:
    """The name of a tool has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py.
    """
    for function in functions(request):
        _check_name(str(function.get("name")))


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        told = f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum"
        raise Refused(f"{told} length of 64.", code="3280")


def results_match_their_calls(request: Request) -> None:
    """An answer's calls have distinct ids, and each has one result before the next answer; there is no other result.

    Source: https://github.com/miquido/draive/issues/398 ("Not the same number of function calls and responses"),
    https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py.
    """
    open_: list[str] = []
    for message in messages(request):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_:
                raise Refused(f"Unexpected tool call id {message['tool_call_id']} in tool results", code=_ORDER)
            open_.remove(message["tool_call_id"])
        elif message["role"] == "assistant":
            if open_:
                break
            open_ = [str(call["id"]) for call in calls(message)]
            if len({*open_}) < len(open_):
                raise Refused(f"Duplicate tool call id {open_[-1]} in assistant message", code=_ORDER)
    if open_:
        raise Refused("Not the same number of function calls and responses", code=_ORDER)


def only_users_show_images(request: Request) -> None:
    """Images stand in messages of users only; the content of a system message, an answer and a result is text.

    Source: https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/messages.py.
    """
    for index, message in enumerate(messages(request)):
        for part in parts(message):
            if part.get("type") not in ("text", "thinking") and message["role"] != "user":
                raise _forbidden("messages", index, message["role"], "content", part.get("type"))


def images_are_of_known_types(request: Request) -> None:
    """An image is PNG, JPEG, WebP or GIF, by an https address or as ``data:image/…;base64,…``.

    Source: https://docs.mistral.ai/capabilities/vision/.
    """
    for message in messages(request):
        for part in parts(message):
            if part.get("type") == "image_url":
                shown = part.get("image_url")
                _check_image(str(shown.get("url") if isinstance(shown, Mapping) else shown))


def _check_image(url: str) -> None:
    inline = data_url(url)
    if inline is None and not url.startswith(("https://", "http://")):
        raise Refused("Image content must be a URL (starting with 'https') or base64 encoded image", code="3310")
    if inline is not None and (inline[0] not in IMAGES or not inline[1]):
        raise Refused(f"Image type {inline[0]} is not supported", code="3310")


def tools_and_schema_exclude_each_other(request: Request) -> None:
    """The response format ``json_schema`` does not come with tools.

    Source: https://github.com/agno-agi/agno/issues/2501 ("Cannot use json_schema response type with tools.").
    """
    asked = request.body.get("response_format") or {}
    if asked.get("type") == "json_schema" and request.body.get("tools"):
        raise Refused("Cannot use json_schema response type with tools.")


RULES: Final[tuple[Rule, ...]] = (
    fields_are_known,
    messages_have_no_unknown_fields,
    functions_have_no_unknown_fields,
    tool_lists_are_not_empty,
    answers_say_something,
    call_ids_have_nine_characters,
    called_names_fit,
    tool_names_fit,
    roles_follow_each_other,
    last_message_is_a_users_or_a_result,
    results_match_their_calls,
    only_users_show_images,
    images_are_of_known_types,
    tools_and_schema_exclude_each_other,
)
