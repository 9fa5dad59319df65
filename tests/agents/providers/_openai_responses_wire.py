"""OpenAI's responses on the wire: items in, items out."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Final

from pydantic_core import to_json
from tests.agents.providers._rules import Asked, Call, Json, Reply, Request, Says, Thought, pieces, signed

_INCLUDED: Final = "reasoning.encrypted_content"
_REASONED: Final = "r"
_PLAIN: Final = "p"


def items(request: Request) -> list[Json]:
    """The items of the input; a text is one of a user."""
    given = request.body.get("input") or []
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [{"type": "message", **item} if "role" in item else item for item in given]


def parts(item: Json, key: str = "content") -> list[Json]:
    """The parts of an item's content or output; a text is one part without type."""
    content = item.get(key)
    return [{"text": content}] if isinstance(content, str) else list(content or ())


def text(item: Json, key: str = "content") -> str:
    """The text of an item."""
    return "".join(part.get("text", "") for part in parts(item, key))


def read(request: Request) -> Asked:
    """What a request says."""
    given = items(request)
    results = [item for item in given if item["type"] == "function_call_output"]
    system = [text(item) for item in given if item.get("role") in ("system", "developer")]
    tools = request.body.get("tools") or ()
    everything = [part for item in given for part in (*parts(item), *parts(item, "output"))]
    return Asked(
        system="\n".join([request.body.get("instructions") or "", *system]),
        texts=[text(item) for item in given if item.get("role") == "user"],
        results=[text(item, "output") for item in results],
        tools=[tool.get("name", tool["type"]) for tool in tools],
        schemas={tool["name"]: tool.get("parameters") or {} for tool in tools if "name" in tool},
        thoughts=[thought_of(item) for item in given if item["type"] == "reasoning"],
        images=[part["image_url"] for part in everything if part.get("type") == "input_image"],
        searches=[item["action"]["query"] for item in given if item["type"] == "web_search_call"],
    )


def reply(request: Request, said: Says, number: int) -> Reply:
    """An answer, streamed if that was asked for."""
    output = list(_output(request, said, number))
    if request.body.get("stream"):
        return Reply(list(_events(request, said, number, output)), "text/event-stream", streamed=True)
    return Reply([to_json(_response(request, said, number, output))])


def follows_reasoning(item: Json) -> bool:
    """Whether a call was made after reasoning: its ids say so."""
    return any(
        str(item.get(key)).startswith(f"{kind}_{_REASONED}") for key, kind in [("id", "fc"), ("call_id", "call")]
    )


def encrypted(thought: str) -> str:
    """A thought in the form that only the provider reads."""
    return f"{signed(thought)}.{b64encode(thought.encode()).decode()}"


def decrypted(content: str) -> str | None:
    """The thought in its encrypted form; None if it was changed."""
    try:
        signature, data = content.split(".")
        thought = b64decode(data, validate=True).decode()
    except ValueError:
        return None
    return thought if signature == signed(thought) else None


def thought_of(item: Json) -> str:
    """What a reasoning item holds: of the encrypted form, or of the summary."""
    content = item.get("encrypted_content")
    known = decrypted(content) if content else None
    return known if known is not None else "".join(part["text"] for part in item.get("summary") or ())


def _output(request: Request, said: Says, number: int) -> Iterator[Json]:
    for index, thought in enumerate(said.thinking):
        yield _reasoning(request, thought, f"rs_{number:08}{index:04}")
    for search in said.searches:
        action = {"type": "search", "query": search.query, "queries": [search.query]}
        own = search_id(search.query, after_reasoning=bool(said.thinking))
        yield {"type": "web_search_call", "id": own, "status": "completed", "action": action}
    if said.text or said.refusal or not said.calls:
        kind, shown = ("refusal", said.refusal) if said.refusal else ("text", said.text)
        part = {"type": f"output_{kind}" if kind == "text" else kind, kind: shown}
        yield {
            "type": "message",
            "id": f"msg_{number:012}",
            "status": "completed",
            "role": "assistant",
            "content": [{**part, "annotations": _cited(said)} if kind == "text" else part],
        }
    flag = _REASONED if said.thinking else _PLAIN
    for index, call in enumerate(said.calls):
        yield _function_call(call, f"{flag}{number:08}{index:04}")


def search_id(query: str, *, after_reasoning: bool) -> str:
    """The id of the search for something."""
    return f"ws_{_REASONED if after_reasoning else _PLAIN}{signed(query)[:20]}"


def _cited(said: Says) -> list[Json]:
    return [
        {
            "type": "url_citation",
            "start_index": 0,
            "end_index": 1,
            "url": f"https://example.org/{each.query}",
            "title": "t",
        }
        for each in said.searches
    ]


def _reasoning(request: Request, thought: Thought, id_: str) -> Json:
    shown = [] if thought.redacted else [{"type": "summary_text", "text": thought.text}]
    item: Json = {"type": "reasoning", "id": id_, "summary": shown}
    if _INCLUDED in (request.body.get("include") or ()):
        item["encrypted_content"] = encrypted(thought.text)
    return item


def _function_call(call: Call, own: str) -> Json:
    arguments = call.arguments if isinstance(call.arguments, str) else to_json(call.arguments).decode()
    return {
        "type": "function_call",
        "id": f"fc_{own}",
        "call_id": f"call_{own}" if call.id is None else call.id,
        "name": call.name,
        "arguments": arguments,
        "status": "completed",
    }


def _response(request: Request, said: Says, number: int, output: list[Json]) -> Json:
    used = said.usage
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(said.ends)
    return {
        "id": f"resp_{number:012}",
        "object": "response",
        "created_at": 0,
        "model": request.body["model"],
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": used.input,
            "input_tokens_details": {"cached_tokens": used.cached},
            "output_tokens": used.output,
            "output_tokens_details": {"reasoning_tokens": used.reasoning},
            "total_tokens": used.input + used.output,
        },
    }


def _events(request: Request, said: Says, number: int, output: list[Json]) -> Iterator[bytes]:
    made = _response(request, said, number, output)
    yield _event("response.created", response={**made, "output": [], "usage": None, "status": "in_progress"})
    for index, item in enumerate(output):
        place = {"item_id": item["id"], "output_index": index}
        yield _event("response.output_item.added", output_index=index, item=_empty(item))
        for part in item.get("summary", ()):
            for piece in pieces(part["text"]):
                yield _event("response.reasoning_summary_text.delta", **place, summary_index=0, delta=piece)
        for part in item.get("content", ()):
            kind = "refusal" if part["type"] == "refusal" else "output_text"
            for piece in pieces(part.get("text") or part.get("refusal") or ""):
                yield _event(f"response.{kind}.delta", **place, content_index=0, delta=piece)
        for piece in pieces(item.get("arguments", "")):
            yield _event("response.function_call_arguments.delta", **place, delta=piece)
        yield _event("response.output_item.done", output_index=index, item=item)
    yield _event(f"response.{made['status']}", response=made)


def _empty(item: Json) -> Json:
    """An item as it is announced, before its pieces come."""
    emptied = {"summary": [], "content": [], "arguments": ""}
    return {key: emptied.get(key, value) for key, value in item.items()}


def _event(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\n".encode() + b"data: " + to_json({"type": kind, "sequence_number": 0, **fields}) + b"\n\n"
