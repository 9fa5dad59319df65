"""Rules of Anthropic's messages on single parts: what a message or a block may look like."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tests.agents.providers._anthropic_wire import Block, blocks
from tests.agents.providers._images import kind
from tests.agents.providers._rules import Refused, Request, Rule

_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST_CALLED: Final = 200
_IMAGES: Final = ("image/jpeg", "image/png", "image/gif", "image/webp")
_KEYS: Final[dict[str, frozenset[str]]] = {
    "text": frozenset({"text", "citations"}),
    "image": frozenset({"source"}),
    "document": frozenset({"source", "title", "context", "citations"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    "tool_use": frozenset({"id", "name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "is_error"}),
    "server_tool_use": frozenset({"id", "name", "input", "caller"}),
    "web_search_tool_result": frozenset({"tool_use_id", "content", "caller"}),
}
_UNCACHED: Final = ("thinking", "redacted_thinking")
_PLACES: Final = {
    "tool_use": "assistant",
    "tool_result": "user",
    "thinking": "assistant",
    "image": "user",
    "server_tool_use": "assistant",
    "web_search_tool_result": "assistant",
}


def max_tokens(request: Request) -> None:
    """``max_tokens`` is required.

    Source: https://platform.claude.com/docs/en/api/messages (body, max_tokens)
    """
    given = request.body.get("max_tokens")
    if not isinstance(given, int) or given < 1:
        raise Refused("max_tokens: Field required")


def messages_there(request: Request) -> None:
    """There is at least one message.

    Source: https://platform.claude.com/docs/en/api/messages (body, messages)
    """
    if not request.body.get("messages"):
        raise Refused("messages: at least one message is required")


def roles(request: Request) -> None:
    """Messages are from ``user`` and ``assistant``; the system prompt is a field of the request.

    Source: https://platform.claude.com/docs/en/api/messages (body, messages, role)
    """
    for message in request.body["messages"]:
        if message.get("role") not in ("user", "assistant"):
            raise Refused(f'messages: Unexpected role "{message.get("role")}"')


def known_fields(request: Request) -> None:
    """Messages and content blocks have no fields but their own.

    Source: https://github.com/RooCodeInc/Roo-Code/issues/11429, https://github.com/langchain-ai/langchain/issues/31208,
    https://github.com/router-for-me/CLIProxyAPI/issues/512 (cache_control of thinking)
    """
    for number, message in enumerate(request.body["messages"]):
        for field in sorted(message.keys() - {"role", "content"}):
            raise Refused(f"messages.{number}.{field}: Extra inputs are not permitted")
    for block in blocks(request):
        cached = () if block.type in _UNCACHED else ("cache_control",)
        for field in sorted(block.body.keys() - {"type", *cached} - _KEYS.get(block.type, frozenset())):
            raise Refused(f"{block.where}.{block.type}.{field}: Extra inputs are not permitted")


def known_blocks(request: Request) -> None:
    """Content blocks are of the known types, calls and thinking in assistant messages, results and images in user's.

    Source: https://platform.claude.com/docs/en/api/messages (body, messages, content)
    """
    for block in blocks(request):
        if block.type not in _KEYS:
            raise Refused(f"{block.where}: Input tag '{block.type}' found using 'type' does not match any of the tags")
        if block.role != _PLACES.get(block.type, block.role):
            raise Refused(f"{block.where}: `{block.type}` blocks can only be in `{_PLACES[block.type]}` messages")


def content_there(request: Request) -> None:
    """Each message but a last one of the assistant has content.

    Source: https://github.com/microsoft/autogen/issues/6083
    """
    messages = request.body["messages"]
    for number, message in enumerate(messages):
        last = number == len(messages) - 1 and message["role"] == "assistant"
        if not message.get("content") and not last:
            raise Refused(
                f"messages.{number}: all messages must have non-empty content "
                "except for the optional final assistant message"
            )


def text_not_empty(request: Request) -> None:
    """A text block is not empty, in the system prompt either.

    Source: https://github.com/mckaywrigley/chatbot-ui/issues/1656, https://github.com/anthropics/claude-code/issues/59812
    """
    for where, text in _texts(request):
        if not text:
            raise Refused(f"{where}: text content blocks must be non-empty")


def text_not_blank(request: Request) -> None:
    """A text block has something other than whitespace.

    Source: https://github.com/home-assistant/core/issues/175637, https://github.com/anthropics/claude-code/issues/23369
    """
    for where, text in _texts(request):
        if not text.strip():
            raise Refused(f"{where}: text content blocks must contain non-whitespace text")


def _texts(request: Request) -> Iterator[tuple[str, str]]:
    system = request.body.get("system") or []
    for part in [{"text": system}] if isinstance(system, str) else system:
        yield "system", part["text"]
    for block in blocks(request):
        if block.type == "text":
            yield "messages", block.body["text"]


def call_ids(request: Request) -> None:
    """Ids of calls match ``^[a-zA-Z0-9_-]+$``, in calls and in results.

    Source: https://github.com/QwenLM/qwen-code/issues/8160, https://github.com/maximhq/bifrost/issues/5097
    """
    for block in blocks(request):
        for field in ("id", "tool_use_id"):
            if block.type in ("tool_use", "tool_result") and field in block.body:
                _match(_ID, block.body[field], f"{block.where}.{block.type}.{field}")


def called_names(request: Request) -> None:
    """The name of a called tool in the history has 1 to 200 characters.

    Source: https://github.com/anthropics/claude-code/issues/94799, https://github.com/anthropics/claude-code/issues/7370
    """
    for block in blocks(request):
        if block.type != "tool_use":
            continue
        if not block.body["name"]:
            raise Refused(f"{block.where}.tool_use.name: String should have at least 1 character")
        if len(block.body["name"]) > _LONGEST_CALLED:
            raise Refused(f"{block.where}.tool_use.name: String should have at most 200 characters")


def call_input(request: Request) -> None:
    """The input of a call is an object.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls (`input`)
    """
    for block in blocks(request):
        if block.type == "tool_use" and not isinstance(block.body["input"], dict):
            raise Refused(f"{block.where}.tool_use.input: Input should be a valid dictionary")


def failed_result_says_why(request: Request) -> None:
    """A result flagged as an error has content.

    Source: https://github.com/jlevy/markform/issues/153, https://github.com/bytedance/trae-agent/issues/230
    """
    for block in blocks(request):
        if block.type == "tool_result" and block.body.get("is_error") and not block.body.get("content"):
            raise Refused(f"{block.where}.tool_result: content cannot be empty if `is_error` is true")


def image_types(request: Request) -> None:
    """An image in base64 is a JPEG, PNG, GIF or WebP.

    Source: https://github.com/anthropics/claude-code/issues/8184, https://github.com/NousResearch/hermes-agent/issues/55432
    """
    for block in _sources(request, "image"):
        if block.body["media_type"] not in _IMAGES:
            allowed = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
            raise Refused(f"{block.where}.image.source.base64.media_type: Input should be {allowed}")


def image_bytes(request: Request) -> None:
    """An image is what its media type says.

    Source: https://github.com/anthropics/claude-code/issues/15746, https://github.com/home-assistant/core/issues/167208
    """
    for block in _sources(request, "image"):
        named = block.body["media_type"]
        if kind(block.body["data"]) != named:
            raise Refused(
                f"{block.where}.image.source.base64.data: Image does not match the provided media type {named}"
            )


def document_types(request: Request) -> None:
    """A document in base64 is a PDF; a plain text is given as text.

    Source: https://platform.claude.com/docs/en/build-with-claude/pdf-support,
    https://platform.claude.com/docs/en/api/messages (document, source)
    """
    for block in _sources(request, "document"):
        if block.body["media_type"] != "application/pdf":
            raise Refused(f"{block.where}.document.source.base64.media_type: Input should be 'application/pdf'")


def _sources(request: Request, wanted: str) -> Iterator[Block]:
    for block in blocks(request):
        if block.type == wanted and block.body["source"]["type"] == "base64":
            yield Block(block.where, block.role, block.body["source"])


def _match(pattern: re.Pattern[str], text: str, where: str) -> None:
    if pattern.fullmatch(text) is None:
        raise Refused(f"{where}: String should match pattern '^{pattern.pattern}$'")


PARTS: Final[Sequence[Rule]] = (
    max_tokens,
    messages_there,
    roles,
    content_there,
    known_blocks,
    known_fields,
    text_not_empty,
    text_not_blank,
    call_ids,
    called_names,
    call_input,
    failed_result_says_why,
    image_types,
    image_bytes,
    document_types,
)
"""The rules, in the order in which they are checked."""
