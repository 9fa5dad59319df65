"""Bedrock's Converse API on the wire, with a model of Anthropic's behind it; streams are frames of AWS's own form."""

from base64 import b64encode
from binascii import crc32
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import pack
from typing import Final

from pydantic_core import from_json, to_json
from tests.agents.providers._rules import Asked, Call, Json, Refused, Reply, Request, Says, Stop, Thought, pieces
from tests.agents.providers._seals import hide, seal, unhide

_STRING: Final = b"\x07"  # the type of a header's value
_STOPS: Final[dict[Stop, str]] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "filter": "content_filtered",
    "pause": "end_turn",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A content block.

    Attributes:
        where: Where it stands: "messages.1.content.0".
        role: Of the message that it stands in.
        body: The block.
    """

    where: str
    role: str
    body: Json

    @property
    def kind(self) -> str:
        """The one member that is set."""
        return next(iter(self.body), "")


def blocks(request: Request) -> Iterator[Block]:
    """All blocks of the messages, those in results of tools after the result."""
    for number, message in enumerate(request.body.get("messages") or ()):
        for index, block in enumerate(message["content"]):
            where = f"messages.{number}.content.{index}"
            yield Block(where, message["role"], block)
            inner = (block.get("toolResult") or {}).get("content") or ()
            for place, part in enumerate(inner):
                yield Block(f"{where}.toolResult.content.{place}", message["role"], part)


def tools(request: Request) -> list[Json]:
    """The tools."""
    config = request.body.get("toolConfig") or {}
    return [tool["toolSpec"] for tool in config.get("tools") or () if "toolSpec" in tool]


def extra(request: Request) -> Json:
    """What is passed on to the model as it is."""
    found: Json = request.body.get("additionalModelRequestFields") or {}
    return found


def thinks(request: Request) -> bool:
    """Whether the model is told to think."""
    return (extra(request).get("thinking") or {}).get("type") in ("enabled", "adaptive")


def read(request: Request) -> Asked:
    """What a request says."""
    found = list(blocks(request))
    results = [block.body["toolResult"] for block in found if block.kind == "toolResult"]
    outside = [block for block in found if ".toolResult." not in block.where]
    return Asked(
        system="\n".join(block["text"] for block in request.body.get("system") or () if "text" in block),
        texts=[block.body["text"] for block in outside if block.kind == "text" and block.role == "user"],
        results=[_text(result) for result in results],
        tools=[tool["name"] for tool in tools(request)],
        schemas={tool["name"]: tool["inputSchema"]["json"] for tool in tools(request)},
        failed=[result.get("status") == "error" for result in results],
        thoughts=[_thought(block.body["reasoningContent"]) for block in found if block.kind == "reasoningContent"],
        images=[block.body["image"]["source"]["bytes"] for block in found if block.kind == "image"],
    )


def _text(result: Json) -> str:
    parts = [
        part.get("text") or (to_json(part["json"]).decode() if "json" in part else "") for part in result["content"]
    ]
    return "".join(parts)


def _thought(block: Json) -> str:
    if "reasoningText" in block:
        text: str = block["reasoningText"]["text"]
        return text
    hidden = unhide(block["redactedContent"])
    return "" if hidden is None else hidden[0]


def reply(request: Request, said: Says, number: int) -> Reply:
    """An answer, streamed if that was asked for."""
    made = _blocks(said, number, thinking=thinks(request))
    if request.path.endswith("/converse-stream"):
        return Reply([*_frames(said, made)], "application/vnd.amazon.eventstream", streamed=True)
    message = {"role": "assistant", "content": made}
    body = {
        "output": {"message": message},
        "stopReason": _STOPS[said.ends],
        "usage": _usage(said),
        "metrics": {"latencyMs": 1},
    }
    return Reply([to_json(body)])


def problem(refused: Refused) -> Json:
    """An error in AWS's form."""
    return {"message": refused.message}


def _blocks(said: Says, number: int, *, thinking: bool) -> list[Json]:
    made = _thinking(said.thinking) if thinking else []
    text = said.text or said.refusal
    if text:
        made.append({"text": text})
    made += [_call(call, number, index) for index, call in enumerate(said.calls)]
    return made


def _thinking(thoughts: Sequence[Thought]) -> list[Json]:
    made: list[Json] = []
    for place, thought in enumerate(thoughts):
        if thought.redacted:
            made.append({"reasoningContent": {"redactedContent": hide(thought.text, place, len(thoughts))}})
        else:
            text = {"text": thought.text, "signature": seal(thought.text, place, len(thoughts))}
            made.append({"reasoningContent": {"reasoningText": text}})
    return made


def _call(call: Call, number: int, index: int) -> Json:
    made = (
        f"tooluse_{b64encode(pack('>QQ', number, index), b'-_').decode().rstrip('=')}" if call.id is None else call.id
    )
    return {"toolUse": {"toolUseId": made, "name": call.name, "input": _object(call)}}


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
        "inputTokens": used.input - used.cached,
        "outputTokens": used.output,
        "totalTokens": used.input + used.output,
        "cacheReadInputTokens": used.cached,
        "cacheWriteInputTokens": 0,
    }


def _frames(said: Says, made: Sequence[Json]) -> Iterator[bytes]:
    yield frame("messageStart", {"role": "assistant"})
    for index, block in enumerate(made):
        start, deltas = _streamed(block)
        if start:
            yield frame("contentBlockStart", {"contentBlockIndex": index, "start": start})
        for delta in deltas:
            yield frame("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield frame("contentBlockStop", {"contentBlockIndex": index})
    yield frame("messageStop", {"stopReason": _STOPS[said.ends]})
    yield frame("metadata", {"usage": _usage(said), "metrics": {"latencyMs": 1}})


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    """How a block begins, if that is said, and what comes after."""
    if "text" in block:
        return {}, [{"text": piece} for piece in pieces(block["text"])]
    if "toolUse" in block:
        call = block["toolUse"]
        written = to_json(call["input"]).decode() if call["input"] else ""
        start = {"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}}
        return start, [{"toolUse": {"input": piece}} for piece in pieces(written)]
    thought = block["reasoningContent"]
    if "redactedContent" in thought:
        return {}, [block]
    text = thought["reasoningText"]
    deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(text["text"])]
    return {}, [*deltas, {"reasoningContent": {"signature": text["signature"]}}]


def frame(kind: str, body: Json) -> bytes:
    """An event as AWS frames it: lengths, headers, the JSON, and two checksums."""
    named = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + _STRING + pack(">H", len(value)) + value.encode()
        for name, value in named.items()
    )
    data = to_json(body)
    prelude = pack(">II", 16 + len(headers) + len(data), len(headers))
    message = prelude + pack(">I", crc32(prelude)) + headers + data
    return message + pack(">I", crc32(message))
