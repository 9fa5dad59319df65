"""Rules of Bedrock's Converse API on single messages and their blocks."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tests.agents.providers._bedrock_wire import blocks
from tests.agents.providers._rules import Refused, Request, Rule

_DOCUMENT: Final = re.compile(r"[a-zA-Z0-9_()\[\]-]+( [a-zA-Z0-9_()\[\]-]+)*")  # an underscore is taken, too
_PLACES: Final[Mapping[str, str]] = {
    "image": "user",
    "document": "user",
    "toolResult": "user",
    "toolUse": "assistant",
    "reasoningContent": "assistant",
}


def content_there(request: Request) -> None:
    """Each message has content.

    Source: https://github.com/archestra-ai/archestra/pull/4220, https://github.com/earendil-works/pi/pull/3443
    """
    for number, message in enumerate(request.body["messages"]):
        if not message["content"]:
            raise Refused(
                f"The content field in the Message object at messages.{number} is empty. "
                "Add a ContentBlock object to the content field and try again."
            )


def text_not_blank(request: Request) -> None:
    """A text is not blank, in a result of a tool either.

    Source: https://github.com/OpenHands/OpenHands/issues/5339, https://github.com/NousResearch/hermes-agent/pull/64858
    """
    for block in blocks(request):
        if block.kind == "text" and not block.body["text"].strip():
            raise Refused(
                f"The text field in the ContentBlock object at {block.where} is blank. "
                "Add text to the text field, and try again."
            )


def input_is_object(request: Request) -> None:
    """The input of a call, and JSON in a result, is an object.

    Source: https://github.com/getnao/nao/issues/1005 (calls), https://github.com/sigoden/aichat/pull/1550 (results)
    """
    for block in blocks(request):
        for name, value in (
            ("json", block.body.get("json")),
            ("toolUse.input", (block.body.get("toolUse") or {}).get("input")),
        ):
            if value is not None and not isinstance(value, dict):
                raise Refused(
                    f"The format of the value at {block.where}.{name} is invalid. "
                    "Provide a json object for the field and try again."
                )


def blocks_by_role(request: Request) -> None:
    """Images, documents and results are the user's, calls and thinking the assistant's.

    Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
    """
    for block in blocks(request):
        if block.role != _PLACES.get(block.kind, block.role):
            raise Refused(f"The {block.kind} field in the ContentBlock object at {block.where} is not allowed there.")


def failed_result_says_why(request: Request) -> None:
    """A result with the status ``error`` has content.

    Source: https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15
    """
    for block in blocks(request):
        result = block.body.get("toolResult") or {}
        if result.get("status") == "error" and not result["content"]:
            raise Refused(f"The content field at {block.where}.toolResult cannot be empty when status value is error.")


def document_names(request: Request) -> None:
    """A document's name has letters, digits, single spaces, hyphens, parentheses and brackets.

    Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html,
    https://github.com/vercel/ai/pull/20366
    """
    for block in blocks(request):
        name = (block.body.get("document") or {}).get("name", "x")
        if _DOCUMENT.fullmatch(name) is None:
            raise Refused(
                "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, "
                "parentheses, and square brackets. The name can't contain more than one consecutive whitespace "
                "character."
            )


def unique_documents(request: Request) -> None:
    """Names of documents are unique in a conversation.

    Source: https://github.com/maximhq/bifrost/issues/7003, https://github.com/BerriAI/litellm/pull/30093
    """
    names = [block.body["document"]["name"] for block in blocks(request) if block.kind == "document"]
    if len(names) != len({*names}):
        raise Refused("Messages can't contain duplicate document names. Rename the document and retry your request.")


def text_beside_documents(request: Request) -> None:
    """A message with a document has a text, too.

    Source: https://github.com/archestra-ai/archestra/pull/4220,
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
    """
    for message in request.body["messages"]:
        kinds = {kind for block in message["content"] for kind in block}
        if "document" in kinds and "text" not in kinds:
            raise Refused("A text block must be included when using documents.")


PARTS: Final[Sequence[Rule]] = (
    content_there,
    text_not_blank,
    input_is_object,
    blocks_by_role,
    failed_result_says_why,
    document_names,
    unique_documents,
    text_beside_documents,
)
"""The rules, in the order in which they are checked."""
