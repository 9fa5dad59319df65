"""Rules of Bedrock's Converse API on how messages fit: order, calls and results, thinking."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from tests.agents.providers._bedrock_wire import Block, blocks, extra, tools
from tests.agents.providers._rules import Json, Refused, Request, Rule
from tests.agents.providers._seals import Seal, complete, unhide, unseal

_PREFILLED: Final = re.compile(r".*claude-(3|(opus|sonnet|haiku)-4(-[015]-|-2\d{7}))")  # models that take prefills


def begins_with_user(request: Request) -> None:
    """The first message is the user's.

    Source: https://github.com/langgenius/dify/issues/12340, https://github.com/elastic/kibana/pull/246393
    """
    messages = request.body["messages"]
    if not messages or messages[0]["role"] != "user":
        raise Refused(
            "A conversation must start with a user message. Try again with a conversation that starts with a user "
            "message."
        )


def roles_alternate(request: Request) -> None:
    """Messages of the user and the assistant take turns.

    Source: https://github.com/langgenius/dify/issues/9294, https://github.com/langchain-ai/langchain-aws/issues/130
    """
    roles = [message["role"] for message in request.body["messages"]]
    if any(one == other for one, other in pairwise(roles)):
        raise Refused(
            "A conversation must alternate between user and assistant roles. Make sure the conversation alternates "
            "between user and assistant roles and try again."
        )


def tools_for_calls(request: Request) -> None:
    """A conversation with calls comes with tools.

    Source: https://github.com/langgenius/dify/issues/17545, https://github.com/vxcontrol/pentagi/pull/196
    """
    called = any(block.kind in ("toolUse", "toolResult") for block in blocks(request))
    if called and not tools(request):
        raise Refused("The toolConfig field must be defined when using toolUse and toolResult content blocks.")


def unique_ids(request: Request) -> None:
    """In a message the ids of calls are unique, and those of results.

    Source: https://github.com/BerriAI/litellm/pull/20049
    """
    for number, message in enumerate(request.body["messages"]):
        for kind in ("toolUse", "toolResult"):
            ids = _ids(message, kind)
            if len(ids) != len({*ids}):
                twice = next(id_ for id_ in ids if ids.count(id_) > 1)
                raise Refused(f"The {kind} blocks at messages.{number}.content contain duplicate Ids: {twice}")


def no_result_without_call(request: Request) -> None:
    """A message has no more results than the one before has calls.

    Source: https://github.com/langgenius/dify-official-plugins/issues/765, https://github.com/NousResearch/hermes-agent/pull/108585
    """
    before: list[str] = []
    for number, message in enumerate(request.body["messages"]):
        if not {*_ids(message, "toolResult")} <= {*before}:
            raise Refused(
                f"The number of toolResult blocks at messages.{number}.content exceeds the number of toolUse blocks "
                "of previous turn."
            )
        before = _ids(message, "toolUse")


def calls_are_answered(request: Request) -> None:
    """Each call has a result in the next message.

    Source: https://github.com/camel-ai/camel/issues/3954, https://github.com/NousResearch/hermes-agent/issues/108584
    """
    messages = request.body["messages"]
    for number, message in enumerate(messages):
        results = _ids(messages[number + 1], "toolResult") if number + 1 < len(messages) else []
        missing = [id_ for id_ in _ids(message, "toolUse") if id_ not in results]
        if missing:
            raise Refused(
                f"Expected toolResult blocks at messages.{number + 1}.content for the following Ids: "
                f"{', '.join(missing)}"
            )


def _ids(message: Json, kind: str) -> list[str]:
    return [block[kind]["toolUseId"] for block in message["content"] if kind in block]


def ends_with_user(request: Request) -> None:
    """The last message is the user's, for models from Claude 4.6 on.

    Source: https://github.com/agno-agi/agno/pull/7304
    """
    if request.body["messages"][-1]["role"] != "user" and _PREFILLED.match(request.path) is None:
        raise Refused(
            "The model returned the following errors: This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def thinking_signed(request: Request) -> None:
    """A block of thinking has the signature with which it came, and its text as it was.

    Source: https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html,
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ReasoningTextBlock.html (signature)
    """
    for block in blocks(request):
        if block.kind == "reasoningContent" and _seal(block) is None:
            raise Refused(
                f"The model returned the following errors: {block.where}: Invalid `signature` in `thinking` block"
            )


def _seal(block: Block) -> Seal | None:
    thought = block.body["reasoningContent"]
    if "redactedContent" in thought:
        hidden = unhide(thought["redactedContent"])
        return None if hidden is None else hidden[1]
    text = thought["reasoningText"]
    return unseal(text.get("signature") or "", text["text"])


def thinking_begins_turn(request: Request) -> None:
    """With thinking enabled, the assistant's turn that the last results belong to begins with its thinking.

    Source: https://github.com/anomalyco/opencode/issues/3077,
    https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html
    """
    if (extra(request).get("thinking") or {}).get("type") != "enabled":
        return
    turn = list(_turn(request))
    if turn and turn[0].kind != "reasoningContent":
        found = {"toolUse": "tool_use"}.get(turn[0].kind, turn[0].kind)
        raise Refused(
            f"The model returned the following errors: {turn[0].where}.type: Expected `thinking` or "
            f"`redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must "
            "start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )


def _turn(request: Request) -> Iterator[Block]:
    """The assistant's blocks since the user last said something other than results; none if that is the end."""
    messages = request.body["messages"]
    said = [at for at, each in enumerate(messages) if each["role"] == "user" and not _ids(each, "toolResult")]
    for block in blocks(request):
        if block.role == "assistant" and int(block.where.split(".")[1]) > (said[-1] if said else -1):
            yield block


def thinking_kept(request: Request) -> None:
    """Of the blocks of thinking of the latest answer none is left out or moved, if any comes back.

    Source: https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html (tool use)
    """
    numbers = [at for at, message in enumerate(request.body["messages"]) if message["role"] == "assistant"]
    latest = f"messages.{numbers[-1]}." if numbers else ""
    found = [block for block in blocks(request) if block.kind == "reasoningContent" and block.where.startswith(latest)]
    if latest and not complete([seal for block in found if (seal := _seal(block)) is not None]):
        raise Refused(
            f"The model returned the following errors: {found[0].where}: `thinking` or `redacted_thinking` blocks in "
            "the latest assistant message cannot be modified."
        )


FIT: Final[Sequence[Rule]] = (
    begins_with_user,
    roles_alternate,
    tools_for_calls,
    unique_ids,
    no_result_without_call,
    calls_are_answered,
    ends_with_user,
    thinking_signed,
    thinking_begins_turn,
    thinking_kept,
)
"""The rules, in the order in which they are checked."""
