"""Rules of Anthropic's messages on how the parts of a conversation fit: order, calls and results, thinking."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tests.agents.providers._anthropic_wire import Block, blocks, content, thinks
from tests.agents.providers._rules import Json, Refused, Request, Rule
from tests.agents.providers._seals import Seal, complete, unhide, unseal

_SERVED: Final = ("server_tool_use", "web_search_tool_result")
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_PREFILLED: Final = re.compile(r"claude-(3|(opus|sonnet|haiku)-4(-[015]|-2\d{7}|$))")  # models that take prefills


def begins_with_user(request: Request) -> None:
    """The first message is the user's.

    Source: https://github.com/lobehub/lobehub/issues/1601, https://github.com/mckaywrigley/chatbot-ui/issues/1656
    """
    if request.body["messages"][0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')


def ends_without_whitespace(request: Request) -> None:
    """A last message of the assistant does not end with whitespace.

    Source: https://github.com/tailcallhq/forgecode/issues/1872, https://github.com/anomalyco/opencode/issues/1295
    """
    last = request.body["messages"][-1]
    parts = content(last)
    text = parts[-1].get("text", "") if parts and last["role"] == "assistant" else ""
    if text != text.rstrip():
        raise Refused("messages: final assistant content cannot end with trailing whitespace")


def ends_with_user(request: Request) -> None:
    """The last message is the user's, for models from Claude 4.6 on, unless a paused turn is to go on.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools (pause_turn),
    https://github.com/Kilo-Org/kilocode/pull/8262, https://github.com/cortexkit/magic-context/issues/511
    """
    last = request.body["messages"][-1]
    paused = bool(content(last)) and content(last)[-1]["type"] in _SERVED
    if last["role"] != "user" and not paused and _PREFILLED.match(request.body["model"]) is None:
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def unique_calls(request: Request) -> None:
    """Ids of calls are unique in a conversation.

    Source: https://github.com/anthropics/claude-code/issues/20700, https://github.com/NachoSEO/claudegram/issues/12
    """
    ids = [block.body["id"] for block in blocks(request) if block.type == "tool_use"]
    if len(ids) != len({*ids}):
        raise Refused("messages: `tool_use` ids must be unique")


def calls_come_last(request: Request) -> None:
    """In a message of the assistant nothing follows its calls.

    Source: https://github.com/anomalyco/opencode (recorded answer "rejects malformed assistant tool order"; the error
    speaks of missing results)
    """
    for number, message in enumerate(request.body["messages"]):
        kinds = [block["type"] for block in content(message)]
        calls = [place for place, each in enumerate(kinds) if each == "tool_use"]
        if calls and calls[-1] != len(kinds) - 1:
            raise _unanswered(number, [block["id"] for block in content(message) if block["type"] == "tool_use"])


def calls_are_answered(request: Request) -> None:
    """Each call has a result in the next message.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls,
    https://github.com/anthropics/claude-code/issues/1237
    """
    messages = request.body["messages"]
    for number, message in enumerate(messages):
        results = _results(messages[number + 1]) if number + 1 < len(messages) else []
        missing = [block["id"] for block in content(message) if _is_open(block, results)]
        if missing:
            raise _unanswered(number, missing)


def _is_open(block: Json, results: Sequence[str]) -> bool:
    return block["type"] == "tool_use" and block["id"] not in results


def _unanswered(number: int, ids: Sequence[str]) -> Refused:
    return Refused(
        f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def results_answer_calls(request: Request) -> None:
    """Each result is that of a call in the message before.

    Source: https://github.com/anthropics/claude-code/issues/18947, https://github.com/tghamm/Anthropic.SDK/issues/184
    """
    known: list[str] = []
    for number, message in enumerate(request.body["messages"]):
        for index, block in enumerate(content(message)):
            if block["type"] == "tool_result" and block["tool_use_id"] not in known:
                raise Refused(
                    f"messages.{number}.content.{index}: unexpected `tool_use_id` found in `tool_result` blocks: "
                    f"{block['tool_use_id']}. Each `tool_result` block must have a corresponding `tool_use` block "
                    "in the previous message."
                )
        known = [block["id"] for block in content(message) if block["type"] == "tool_use"]


def one_result_each(request: Request) -> None:
    """A call has one result.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/parallel-tool-use (troubleshooting),
    https://github.com/BerriAI/litellm/pull/20049
    """
    for number, message in enumerate(request.body["messages"]):
        results = _results(message)
        twice = [id_ for id_ in results if results.count(id_) > 1]
        if twice:
            raise Refused(
                f"messages.{number}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {twice[0]}"
            )


def results_come_first(request: Request) -> None:
    """In a message with results, these come before all else.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls (formatting requirements)
    """
    for number, message in enumerate(request.body["messages"]):
        kinds = [block["type"] == "tool_result" for block in content(message)]
        if kinds != sorted(kinds, reverse=True):
            raise _unanswered(number - 1, _results(message))


def _results(message: Json) -> list[str]:
    return [block["tool_use_id"] for block in content(message) if block["type"] == "tool_result"]


def thinking_signed(request: Request) -> None:
    """A block of thinking has the signature with which it came, and its text as it was.

    Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking (preserving thinking blocks),
    https://github.com/anthropics/anthropic-sdk-python/issues/1598
    """
    for block in blocks(request):
        if block.type in _THOUGHTS and _seal(block) is None:
            field = "signature" if block.type == "thinking" else "data"
            raise Refused(f"{block.where}: Invalid `{field}` in `{block.type}` block")


def _seal(block: Block) -> Seal | None:
    if block.type == "thinking":
        return unseal(block.body.get("signature") or "", block.body["thinking"])
    hidden = unhide(block.body["data"])
    return None if hidden is None else hidden[1]


def thinking_begins_turn(request: Request) -> None:
    """With thinking enabled, the assistant's turn that the last results belong to begins with its thinking.

    Source: https://platform.claude.com/docs/en/build-with-claude/extended-thinking (preserving thinking blocks),
    https://github.com/mastra-ai/mastra/issues/7799
    """
    if (request.body.get("thinking") or {}).get("type") != "enabled":
        return
    turn = list(_turn(request))
    if turn and turn[0].type not in _THOUGHTS:
        raise Refused(
            f"{turn[0].where}.type: Expected `thinking` or `redacted_thinking`, but found `{turn[0].type}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
            "lastmost set of `tool_use` and `tool_result` blocks)."
        )


def _turn(request: Request) -> Iterator[Block]:
    """The assistant's blocks since the user last said something other than results; none if that is the end."""
    messages = request.body["messages"]
    said = [number for number, message in enumerate(messages) if _is_said(message)]
    begin = said[-1] + 1 if said else 0
    for block in blocks(request):
        if block.role == "assistant" and int(block.where.split(".")[1]) >= begin:
            yield block


def _is_said(message: Json) -> bool:
    return message["role"] == "user" and not _results(message)


def thinking_kept(request: Request) -> None:
    """Of the blocks of thinking of the latest answer none is left out or moved, if any comes back.

    Source: https://github.com/anthropics/claude-code/issues/63246, https://github.com/Yeachan-Heo/gajae-code/issues/4247
    """
    numbers = [number for number, message in enumerate(request.body["messages"]) if message["role"] == "assistant"]
    latest = f"messages.{numbers[-1]}." if numbers else ""
    found = [block for block in blocks(request) if block.type in _THOUGHTS and block.where.startswith(latest)]
    if latest and not complete([seal for block in found if (seal := _seal(block)) is not None]):
        raise Refused(
            f"{found[0].where}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
            "modified. These blocks must remain as they were in the original response."
        )


def thinking_stays_on(request: Request) -> None:
    """A last message of the assistant has no thinking if thinking is off.

    Source: https://github.com/tailcallhq/forgecode/issues/1853, https://github.com/BerriAI/litellm/issues/18926
    """
    last = len(request.body["messages"]) - 1
    for block in blocks(request):
        if block.type in _THOUGHTS and block.where.startswith(f"messages.{last}.") and not thinks(request):
            raise Refused(
                f"{block.where}: When thinking is disabled, an `assistant` message in the final position cannot "
                "contain `thinking`. To use thinking blocks, enable `thinking` in your request."
            )


def tools_for_calls(request: Request) -> None:
    """A conversation with calls comes with tools.

    Source: https://github.com/BerriAI/litellm/issues/5388
    """
    called = any(block.type in ("tool_use", "tool_result") for block in blocks(request))
    if called and not request.body.get("tools"):
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")


FIT: Final[Sequence[Rule]] = (
    begins_with_user,
    ends_without_whitespace,
    thinking_stays_on,
    ends_with_user,
    tools_for_calls,
    unique_calls,
    calls_come_last,
    results_come_first,
    one_result_each,
    results_answer_calls,
    calls_are_answered,
    thinking_signed,
    thinking_begins_turn,
    thinking_kept,
)
"""The rules, in the order in which they are checked."""
