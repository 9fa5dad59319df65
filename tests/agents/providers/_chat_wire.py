"""OpenAI's chat completions on the wire, as OpenAI, Mistral and DeepSeek speak it, each in a dialect of its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic_core import to_json
from tests.agents.providers._rules import Asked, Call, Json, Refused, Reply, Request, Says, Stop, pieces

_DONE: Final = b"data: [DONE]\n\n"


def _shows_nothing(text: str) -> Json:
    return {}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a provider's form differs from the others'.

    Attributes:
        call_id: Makes the id of a call, of the number of the answer and the place of the call in it.
        thinks: Makes what a message or a delta says of thinking; of nothing where the provider shows none.
        stops: Its names for why an answer ends, where they differ.
        refuses: Whether a refusal has a field of its own.
        counts_uncached: Whether tokens are counted in DeepSeek's way.
    """

    call_id: Callable[[int, int], str]
    thinks: Callable[[str], Json] = _shows_nothing
    stops: Mapping[Stop, str] = field(default_factory=dict)
    refuses: bool = False
    counts_uncached: bool = False


_STOPS: Final[Mapping[Stop, str]] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "filter": "content_filter",
    "pause": "stop",
}


def read(request: Request) -> Asked:
    """What a request says."""
    messages = request.body["messages"]

    functions = [tool["function"] for tool in request.body.get("tools") or ()]
    shown = [part["image_url"] for message in messages for part in _parts(message) if part.get("type") == "image_url"]

    def texts(*roles: str) -> list[str]:
        return [text_of(message.get("content")) for message in messages if message["role"] in roles]

    return Asked(
        system="\n".join(texts("system", "developer")),
        texts=texts("user"),
        results=texts("tool"),
        tools=[function["name"] for function in functions],
        schemas={function["name"]: function.get("parameters") or {} for function in functions},
        images=[image["url"] if isinstance(image, Mapping) else image for image in shown],
    )


def _parts(message: Json) -> Sequence[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else ()


def text_of(content: object) -> str:
    """The text of a message's content: itself, or of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else ()
    return "".join(part.get("text", "") for part in parts if part.get("type") == "text")


def reply(request: Request, said: Says, number: int, dialect: Dialect) -> Reply:
    """An answer, streamed if that was asked for."""
    if request.body.get("stream"):
        return Reply([*_events(request, said, number, dialect), _DONE], "text/event-stream", streamed=True)
    choice = {"index": 0, "message": _message(said, number, dialect), "finish_reason": _reason(said, dialect)}
    body = {**_head(request, number, "chat.completion"), "choices": [choice], "usage": _usage(said, dialect)}
    return Reply([to_json(body)])


def problem(refused: Refused) -> Json:
    """An error in OpenAI's form."""
    return {
        "error": {
            "message": refused.message,
            "type": "invalid_request_error",
            "param": refused.param,
            "code": refused.code,
        }
    }


def _message(said: Says, number: int, dialect: Dialect) -> Json:
    message: Json = {"role": "assistant", "content": said.text or None}
    if said.refusal:
        message["refusal" if dialect.refuses else "content"] = said.refusal
    if said.thinking:
        message = _merged(message, dialect.thinks("".join(thought.text for thought in said.thinking)))
    if said.calls:
        message["tool_calls"] = [_call(call, number, index, dialect) for index, call in enumerate(said.calls)]
    return message


def _merged(message: Json, thought: Json) -> Json:
    """A message with thinking beside its content, or with it in its content, before the text."""
    content = thought.get("content")
    if not isinstance(content, list):
        return {**message, **thought}
    text = message["content"]
    parts = text if isinstance(text, list) else [{"type": "text", "text": text}] if text else []
    return {**message, "content": [*content, *parts]}


def _events(request: Request, said: Says, number: int, dialect: Dialect) -> Iterator[bytes]:
    head = _head(request, number, "chat.completion.chunk")

    def event(delta: Json, reason: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield event({"role": "assistant", "content": ""})
    for thought in said.thinking:
        for piece in pieces(thought.text):
            if shown := dialect.thinks(piece):
                yield event(shown)
    for piece in pieces(said.text):
        yield event({"content": piece})
    for piece in pieces(said.refusal):
        yield event({"refusal" if dialect.refuses else "content": piece})
    for index, call in enumerate(said.calls):
        whole = _call(call, number, index, dialect)
        first = {**whole["function"], "arguments": ""}
        yield event({"tool_calls": [{"index": index, **whole, "function": first}]})
        for piece in pieces(whole["function"]["arguments"]):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield event({}, _reason(said, dialect))
    yield _event({**head, "choices": [], "usage": _usage(said, dialect)})


def _event(data: Json) -> bytes:
    return b"data: " + to_json(data) + b"\n\n"


def _head(request: Request, number: int, kind: str) -> Json:
    return {"id": f"chatcmpl-{number}", "created": 0, "object": kind, "model": request.body["model"]}


def _reason(said: Says, dialect: Dialect) -> str:
    return dialect.stops.get(said.ends) or _STOPS[said.ends]


def _call(call: Call, number: int, index: int, dialect: Dialect) -> Json:
    arguments = call.arguments if isinstance(call.arguments, str) else to_json(call.arguments).decode()
    made = dialect.call_id(number, index) if call.id is None else call.id
    return {"id": made, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _usage(said: Says, dialect: Dialect) -> Json:
    used = said.usage
    usage: Json = {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning},
    }
    if dialect.counts_uncached:
        usage |= {"prompt_cache_hit_tokens": used.cached, "prompt_cache_miss_tokens": used.input - used.cached}
    return usage
