"""What OpenAI's chat completions refuse of messages."""

from typing import Final

from tests.agents.providers._chat_rules import (
    IMAGES,
    NAME,
    all_calls,
    check_pairing,
    check_text,
    data_url,
    messages,
    parts,
    twice,
)
from tests.agents.providers._rules import Json, Refused, Request, Rule

_ROLES: Final = ("system", "developer", "user", "assistant", "tool")
_KEYS: Final = frozenset(
    {"role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "annotations", "function_call"}
)
_USERS: Final = ("text", "image_url", "input_audio", "file")


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
)
