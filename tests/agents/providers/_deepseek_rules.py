"""What DeepSeek refuses."""

from collections.abc import Mapping
from typing import Final

from tests.agents.providers._chat_rules import (
    NAME,
    all_calls,
    calls,
    check_pairing,
    check_text,
    forced,
    functions,
    messages,
    parts,
    twice,
)
from tests.agents.providers._chat_wire import text_of
from tests.agents.providers._openai_schemas import wrong_root
from tests.agents.providers._rules import Refused, Request, Rule

_ROLES: Final = ("system", "user", "assistant", "tool", "latest_reminder")
_CODE: Final = "invalid_request_error"
_MOST_TOOLS: Final = 128
_UNREADABLE: Final = "Failed to deserialize the JSON body into the target type"


def thinks(request: Request) -> bool:
    """Whether the model thinks: as asked for, else by default, which all but deepseek-chat do."""
    asked = request.body.get("thinking")
    if isinstance(asked, Mapping):
        return asked.get("type") == "enabled"
    return request.body.get("model") != "deepseek-chat"


def roles_are_known(request: Request) -> None:
    """There is a message, and each has the role system, user, assistant or tool; there is no ``developer``.

    Source: https://github.com/decolua/9router/issues/773.
    """
    if not messages(request):
        raise Refused("Empty input messages", code=_CODE)
    for index, message in enumerate(messages(request)):
        if message.get("role") not in _ROLES:
            told = f"messages[{index}].role: unknown variant `{message.get('role')}`, expected one of {_ROLES}"
            raise Refused(f"{_UNREADABLE}: {told}", code=_CODE)


def content_is_text(request: Request) -> None:
    """Content is text: there are no images, also not in results.

    Source: https://github.com/1jehuang/jcode/issues/310 ("unknown variant `image_url`, expected `text`").
    """
    for index, message in enumerate(messages(request)):
        for part in parts(message):
            if part.get("type") != "text":
                told = f"messages[{index}]: unknown variant `{part.get('type')}`, expected `text`"
                raise Refused(f"{_UNREADABLE}: {told}", code=_CODE)


def answers_say_something(request: Request) -> None:
    """An answer has content or calls, all other messages have content.

    Source: https://github.com/carlrobertoh/ProxyAI/issues/834.
    """
    for message in messages(request):
        if message.get("content") is None and not calls(message):
            raise Refused("Invalid assistant message: content or tool_calls must be set", code=_CODE)


def calls_have_ids(request: Request) -> None:
    """Each call has an id of its own in its answer, and a name.

    Source: https://api-docs.deepseek.com/api/create-chat-completion (`tool_calls`, required fields);
    that they are distinct is kept as for OpenAI.
    """
    for where, call in all_calls(request):
        if not call.get("id") or not (call.get("function") or {}).get("name"):
            raise Refused(f"{_UNREADABLE}: {where}: missing field `id` or `name`", code=_CODE)
    double = twice(request)
    if double is not None:
        raise Refused(f"Duplicate value for 'tool_call_id' of '{double}'", code=_CODE)


def results_follow_their_calls(request: Request) -> None:
    """An answer with calls is followed at once by one result for each, and no result stands anywhere else.

    Source: https://github.com/gptme/gptme/issues/3421, https://github.com/TurixAI/TuriX-CUA/issues/15,
    https://github.com/qwersyk/Newelle/issues/425.
    """
    check_pairing(
        request,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "(insufficient tool messages following tool_calls message: {})",
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    )


def thinking_comes_back_with_its_calls(request: Request) -> None:
    """A model that thinks gets the ``reasoning_content`` of each answer with calls back, in all later requests.

    Of answers without calls it is ignored; before V3.2 it was refused there, which is not kept here.

    Source: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls,
    https://github.com/abhigyanpatwari/GitNexus/issues/43, https://github.com/earendil-works/pi/issues/3636.
    """
    if not thinks(request):
        return
    for message in messages(request):
        if calls(message) and not message.get("reasoning_content"):
            told = "The `reasoning_content` in the thinking mode must be passed back to the API."
            raise Refused(told, code=_CODE)


def thinking_and_forced_calls_exclude_each_other(request: Request) -> None:
    """A model that thinks takes the tool choices ``auto`` and ``none`` only.

    Source: https://github.com/deepseek-ai/DeepSeek-V3/issues/1376 ("Thinking mode does not support this tool_choice"),
    https://github.com/osaurus-ai/osaurus/pull/1940.
    """
    if thinks(request) and forced(request.body.get("tool_choice")):
        raise Refused("Thinking mode does not support this tool_choice", code=_CODE)


def tool_lists_are_not_empty(request: Request) -> None:
    """Without tools, ``tools`` is left out rather than an empty array; there are at most 128.

    Source: https://github.com/runebookai/tome/pull/87, https://api-docs.deepseek.com/api/create-chat-completion.
    """
    tools = request.body.get("tools")
    if tools == []:
        raise Refused("[] is too short - 'tools'", code=_CODE)
    if tools is not None and len(tools) > _MOST_TOOLS:
        raise Refused(f"Invalid 'tools': array too long. Expected at most {_MOST_TOOLS}.", code=_CODE)


def tool_names_fit(request: Request) -> None:
    """The name of a tool has 1 to 64 of the characters a-z, A-Z, 0-9, _ and -.

    Source: https://github.com/zed-industries/zed/issues/57531,
    https://api-docs.deepseek.com/api/create-chat-completion.
    """
    for index, function in enumerate(functions(request)):
        check_text(function.get("name"), f"tools[{index}].function.name", most=64, pattern=NAME)


def parameters_are_one_object(request: Request) -> None:
    """The root of a tool's parameters has the type object.

    Source: https://github.com/end-4/dots-hyprland/pull/3640, https://github.com/Kilo-Org/kilocode/issues/12237.
    """
    for function in functions(request):
        parameters = function.get("parameters")
        told = None if parameters is None else wrong_root({"type": parameters.get("type")})
        if told is not None:
            raise Refused(f"Invalid schema for function '{function['name']}': {told}", code=_CODE)


def answers_are_not_of_a_schema(request: Request) -> None:
    """The response format is ``text`` or ``json_object``; there is no ``json_schema``.

    Source: https://github.com/llm-exe/llm-exe/issues/662, https://github.com/BerriAI/litellm/pull/31466.
    """
    if (request.body.get("response_format") or {}).get("type") == "json_schema":
        raise Refused("This response_format type is unavailable now", code=_CODE)


def json_mode_is_named(request: Request) -> None:
    """With the response format ``json_object`` some message has the word JSON.

    Source: https://github.com/browserbase/stagehand/issues/1204, https://api-docs.deepseek.com/guides/json_mode.
    """
    if (request.body.get("response_format") or {}).get("type") != "json_object":
        return
    if not any("json" in text_of(message.get("content")).lower() for message in messages(request)):
        told = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
        raise Refused(told, code=_CODE)


RULES: Final[tuple[Rule, ...]] = (
    roles_are_known,
    content_is_text,
    answers_say_something,
    calls_have_ids,
    results_follow_their_calls,
    thinking_comes_back_with_its_calls,
    thinking_and_forced_calls_exclude_each_other,
    tool_lists_are_not_empty,
    tool_names_fit,
    parameters_are_one_object,
    answers_are_not_of_a_schema,
    json_mode_is_named,
)
