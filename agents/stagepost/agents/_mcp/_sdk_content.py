"""What MCP servers tell, in words of our own: their tools, and the results of calls."""

from collections.abc import Iterator
from itertools import chain
from typing import assert_never

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)

from ._content import Block, composed, part_of
from ._remote import RemoteResult, RemoteTool


def described(tool: Tool) -> RemoteTool:
    """A tool as ours."""
    hints = tool.annotations
    marked = hints is not None and bool(hints.idempotent_hint or hints.read_only_hint)
    return RemoteTool(tool.name, tool.description or tool.title or "", tool.input_schema, marked)


def needs_task(tool: Tool) -> bool:
    """Whether a tool can only be called by way of tasks, which nobody here speaks."""
    return tool.execution is not None and tool.execution.task_support == "required"


def told(result: CallToolResult) -> RemoteResult:
    """The result of a call as ours."""
    blocks = [_block(block) for block in result.content]
    text, parts = composed(blocks, result.structured_content, list(chain.from_iterable(map(_beside, result.content))))
    return RemoteResult(text, bool(result.is_error), tuple(parts))


def _block(block: ContentBlock) -> Block:
    """A piece of a result: its text, or the part that it is; a link is described."""
    match block:
        case TextContent():
            return str(block.text)
        case ImageContent() | AudioContent():
            return part_of(block.type, block.data, block.mime_type)
        case ResourceLink():
            return f"[resource {block.name!r}: {block.uri}{_kind(block.mime_type)}]"
        case EmbeddedResource():
            return _embedded(block.resource)
        case _:
            assert_never(block)


def _beside(block: ContentBlock) -> Iterator[str]:
    """What else a piece of a result says, all of which its structured content may repeat."""
    match block:
        case ImageContent() | AudioContent():
            yield from (block.type, block.data, block.mime_type)
        case ResourceLink():
            yield from (block.type, block.name, str(block.uri), block.mime_type or "")
        case EmbeddedResource():
            held = block.resource
            bytes_of = held.blob if isinstance(held, BlobResourceContents) else ""
            yield from (block.type, str(held.uri), held.mime_type or "", bytes_of)
        case _:
            yield block.type


def _embedded(resource: TextResourceContents | BlobResourceContents) -> Block:
    if isinstance(resource, BlobResourceContents):
        name = str(resource.uri).rpartition("/")[2]
        return part_of(f"resource {resource.uri}", resource.blob, resource.mime_type, name)
    return f"[resource: {resource.uri}{_kind(resource.mime_type)}]\n{resource.text}"


def _kind(mime_type: str | None) -> str:
    return f", {mime_type}" if mime_type else ""
