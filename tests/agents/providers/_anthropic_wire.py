"""Anthropic's messages on the wire."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic_core import from_json, to_json
from tests.agents.providers._rules import (
    Asked,
    Call,
    Json,
    Refused,
    Reply,
    Request,
    Says,
    Stop,
    Thought,
    pieces,
    signed,
)
from tests.agents.providers._seals import hide, seal, unhide

_STOPS: Final[dict[Stop, str]] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "filter": "refusal",
    "pause": "pause_turn",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A content block.

    Attributes:
        where: Where it stands: "messages.1.content.0".
        role: Of the message that it stands in; "system" for the system prompt.
        body: The block.
    """

    where: str
    role: str
    body: Json

    @property
    def type(self) -> str:
        """Its type."""
        kind: str = self.body.get("type", "")
        return kind


def content(message: Json) -> list[Json]:
    """The blocks of a message: a text alone is one, too."""
    found = message.get("content")
    return [{"type": "text", "text": found}] if isinstance(found, str) else list(found or ())


def blocks(request: Request) -> Iterator[Block]:
    """All blocks of the messages, those in results of tools after the result."""
    for number, message in enumerate(request.body.get("messages") or ()):
        for index, block in enumerate(content(message)):
            where = f"messages.{number}.content.{index}"
            yield Block(where, message.get("role", ""), block)
            inner = block.get("content") if block.get("type") == "tool_result" else None
            for place, part in enumerate(inner if isinstance(inner, list) else ()):
                yield Block(f"{where}.tool_result.content.{place}", message.get("role", ""), part)


def thinks(request: Request) -> bool:
    """Whether the model is told to think."""
    return (request.body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def own_tools(request: Request) -> list[Json]:
    """The tools that the asking side executes: those of the provider have a type of their own."""
    return [tool for tool in request.body.get("tools") or () if tool.get("type", "custom") == "custom"]


def read(request: Request) -> Asked:
    """What a request says."""
    found = list(blocks(request))
    results = [block.body for block in found if block.type == "tool_result"]
    system = request.body.get("system") or ""
    return Asked(
        system=system if isinstance(system, str) else "\n".join(part["text"] for part in system),
        texts=[block.body["text"] for block in found if block.type == "text" and block.role == "user"],
        results=[_text(result) for result in results],
        tools=[tool["name"] for tool in request.body.get("tools") or ()],
        schemas={tool["name"]: tool["input_schema"] for tool in own_tools(request)},
        failed=[bool(result.get("is_error")) for result in results],
        thoughts=[_thought(block.body) for block in found if block.type in ("thinking", "redacted_thinking")],
        images=[_image(block.body["source"]) for block in found if block.type == "image"],
        searches=[block.body["input"]["query"] for block in found if block.type == "server_tool_use"],
    )


def _image(source: Json) -> str:
    found: str = source["data"] if source["type"] == "base64" else source["url"]
    return found


def _text(result: Json) -> str:
    return "".join(part["text"] for part in content(result) if part["type"] == "text")


def _thought(block: Json) -> str:
    if block["type"] == "thinking":
        text: str = block["thinking"]
        return text
    hidden = unhide(block["data"])
    return "" if hidden is None else hidden[0]


def reply(request: Request, said: Says, number: int) -> Reply:
    """An answer, streamed if that was asked for."""
    made = _blocks(said, number, thinking=thinks(request))
    if request.body.get("stream"):
        return Reply([*_events(request, said, number, made)], "text/event-stream", streamed=True)
    body = {**_head(request, number), "content": made, "stop_reason": _STOPS[said.ends], "usage": _usage(said)}
    return Reply([to_json(body)])


def problem(refused: Refused) -> Json:
    """An error in Anthropic's form."""
    kind = "not_found_error" if refused.status == 404 else "invalid_request_error"
    return {"type": "error", "error": {"type": kind, "message": refused.message}, "request_id": "req_0"}


def _head(request: Request, number: int) -> Json:
    return {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _blocks(said: Says, number: int, *, thinking: bool) -> list[Json]:
    made = [_found(query) for query in said.late]
    made += _thinking(said.thinking) if thinking else []
    for query in [search.query for search in said.searches if not search.waits]:
        made += [_search(query), _found(query)]
    text = said.text or said.refusal
    if text:
        sources = [search.query for search in said.searches if not search.waits] + list(said.late)
        made.append({"type": "text", "text": text, **({"citations": list(map(_cited, sources))} if sources else {})})
    made += [_search(search.query) for search in said.searches if search.waits]
    made += [_call(call, number, index) for index, call in enumerate(said.calls)]
    return made


def search_id(query: str) -> str:
    """The id of the search for something."""
    return f"srvtoolu_{signed(query)[:24]}"


def sealed(query: str) -> str:
    """What only the provider can have found."""
    return f"found-{signed(query)}"


def _search(query: str) -> Json:
    return {"type": "server_tool_use", "id": search_id(query), "name": "web_search", "input": {"query": query}}


def _found(query: str) -> Json:
    page = {"type": "web_search_result", "url": f"https://example.org/{query}", "title": query, "page_age": None}
    result = {**page, "encrypted_content": sealed(query)}
    return {"type": "web_search_tool_result", "tool_use_id": search_id(query), "content": [result]}


def _cited(query: str) -> Json:
    return {
        "type": "web_search_result_location",
        "url": f"https://example.org/{query}",
        "title": query,
        "encrypted_index": sealed(query),
        "cited_text": query,
    }


def _thinking(thoughts: Sequence[Thought]) -> list[Json]:
    made: list[Json] = []
    for place, thought in enumerate(thoughts):
        if thought.redacted:
            made.append({"type": "redacted_thinking", "data": hide(thought.text, place, len(thoughts))})
        else:
            signature = seal(thought.text, place, len(thoughts))
            made.append({"type": "thinking", "thinking": thought.text, "signature": signature})
    return made


def _call(call: Call, number: int, index: int) -> Json:
    made = f"toolu_{number:012}{index:08}" if call.id is None else call.id
    return {"type": "tool_use", "id": made, "name": call.name, "input": _object(call)}


def _object(call: Call) -> Json:
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    try:
        found = from_json(call.arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _usage(said: Says) -> Json:
    used = said.usage
    return {
        "input_tokens": used.input - used.cached,
        "cache_read_input_tokens": used.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": used.output,
    }


def _events(request: Request, said: Says, number: int, made: Sequence[Json]) -> Iterator[bytes]:
    begun = {**_usage(said), "output_tokens": 1}
    yield _event("message_start", message={**_head(request, number), "usage": begun})
    yield _event("ping")
    for index, block in enumerate(made):
        start, deltas = _streamed(block)
        yield _event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    end = {"stop_reason": _STOPS[said.ends], "stop_sequence": None}
    yield _event("message_delta", delta=end, usage={"output_tokens": said.usage.output})
    yield _event("message_stop")


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    """How a block begins, and what comes after."""
    match block["type"]:
        case "text":
            cited = [{"type": "citations_delta", "citation": one} for one in block.get("citations", ())]
            begun = {**block, "text": "", **({"citations": []} if cited else {})}
            return begun, [*cited, *({"type": "text_delta", "text": piece} for piece in pieces(block["text"]))]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            sealed = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*deltas, sealed]
        case "tool_use" | "server_tool_use":
            written = to_json(block["input"]).decode() if block["input"] else ""
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(written))]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def _event(kind: str, **body: object) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + to_json({"type": kind, **body}) + b"\n\n"
