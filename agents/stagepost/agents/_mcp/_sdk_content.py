"""What MCP servers tell, in words of our own: their tools, and the results of calls."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import assert_never

from mcp import MCPError
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    ElicitRequest,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequests,
    InputResponses,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic import ValidationError

from ._content import Block, composed, part_of
from ._remote import Elicitation, RemoteResult, RemoteTool, Response


def described(tool: Tool) -> RemoteTool:
    """A tool as ours."""
    hints = tool.annotations
    marked = hints is not None and bool(hints.idempotent_hint or hints.read_only_hint)
    return RemoteTool(tool.name, tool.description or tool.title or "", tool.input_schema, marked)


def needs_task(tool: Tool) -> bool:
    """Whether a tool can only be called by the tasks of the protocol of 2025, which the SDK does not speak."""
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


def elicitation_of(params: ElicitRequestParams) -> Elicitation:
    """What a server asks, as ours."""
    if isinstance(params, ElicitRequestURLParams):
        return Elicitation(message=params.message, url=params.url)
    return Elicitation(message=params.message, form=params.requested_schema)


def elicitations(requests: InputRequests) -> dict[str, Elicitation] | RemoteResult:
    """What a server asks instead of a result; an error if it asks something else than people."""
    found = {name: elicitation_of(it.params) for name, it in requests.items() if isinstance(it, ElicitRequest)}
    if len(found) == len(requests):
        return found
    others = sorted({it.method for it in requests.values() if not isinstance(it, ElicitRequest)})
    return RemoteResult(f"the server asks for {', '.join(others)}, which it was not offered", is_error=True)


def visits(error: MCPError) -> dict[str, Elicitation]:
    """The places that people have to visit before a server can do anything, from its error; none if it names none."""
    data = error.error.data
    found = data.get("elicitations") if isinstance(data, Mapping) else None
    places = [ElicitRequestURLParams.model_validate(it) for it in (found if isinstance(found, list) else ())]
    return {str(index): elicitation_of(place) for index, place in enumerate(places)}


class UnsendableAnswer(ValueError):
    """The protocol has no form for an answer."""

    def __init__(self) -> None:
        super().__init__(
            "the answer cannot be sent to the server: the protocol takes texts, numbers, truth values and lists of "
            "texts, each by its name"
        )


def response_for(said: Response) -> ElicitResult:
    """What people have said, for the server.

    Raises:
        UnsendableAnswer: It has no form in the protocol, which a schema beyond the protocol's rules may want.
    """
    if said.action != "accept" or said.content is None:
        return ElicitResult(action=said.action)
    try:
        return ElicitResult(action=said.action, content=said.content)
    except ValidationError:
        raise UnsendableAnswer from None


def responses_for(said: Mapping[str, Response]) -> InputResponses:
    """The same of several questions, by their names."""
    return {name: response_for(each) for name, each in said.items()}
