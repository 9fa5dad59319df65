"""Gemini's generateContent on the wire. A request may name its fields in camel case or with underscores."""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic_core import from_json, to_json
from tests.agents.providers._rules import Asked, Call, Json, Refused, Reply, Request, Says, Stop, pieces, signed
from tests.agents.providers._seals import hide, unhide

_OPAQUE: Final = ("args", "response", "parametersJsonSchema", "responseJsonSchema", "enum", "default", "example")
_NAMED: Final = ("properties",)  # whose keys are names, not fields
_STOPS: Final[dict[Stop, str]] = {
    "end": "STOP",
    "calls": "STOP",
    "length": "MAX_TOKENS",
    "filter": "SAFETY",
    "pause": "STOP",
}


def normal(request: Request) -> Json:
    """A request with all fields in camel case; what is not fields is left alone."""
    found: Json = _normal(request.body)
    return found


def _normal(value: Any) -> Any:
    if isinstance(value, list):
        return [_normal(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    return {(key := _camel(name)): _field(key, inner) for name, inner in value.items()}


def _field(key: str, value: Any) -> Any:
    if key in _OPAQUE:
        return value
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _normal(inner) for name, inner in value.items()}
    return _normal(value)


def _camel(name: str) -> str:
    return re.sub(r"(?<=[a-zA-Z0-9])_([a-z0-9])", lambda found: found[1].upper(), name)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a content.

    Attributes:
        where: Where it stands: "contents[0].parts[1]".
        role: Of the content that it stands in.
        body: The part.
    """

    where: str
    role: str
    body: Json


def parts(request: Request) -> Iterator[Part]:
    """All parts of all contents."""
    for number, content in enumerate(normal(request).get("contents") or ()):
        for index, part in enumerate(content.get("parts") or ()):
            yield Part(f"contents[{number}].parts[{index}]", content.get("role", "user"), part)


def functions(request: Request) -> list[tuple[str, Json]]:
    """All functions that are declared, each with where."""
    return [
        (f"tools[{number}].function_declarations[{index}]", function)
        for number, tool in enumerate(normal(request).get("tools") or ())
        for index, function in enumerate(tool.get("functionDeclarations") or ())
    ]


def signs(request: Request) -> bool:
    """Whether the model is one whose signatures have to come back."""
    return re.search(r"/gemini-(2|1)", request.path) is None


def thinks(request: Request) -> bool:
    """Whether the model is told to show its thinking."""
    config = (normal(request).get("generationConfig") or {}).get("thinkingConfig") or {}
    return bool(config.get("includeThoughts"))


def read(request: Request) -> Asked:
    """What a request says."""
    found = list(parts(request))
    system = normal(request).get("systemInstruction") or {}
    answers = [part.body["functionResponse"] for part in found if "functionResponse" in part.body]
    pictures = [*(part.body for part in found), *(inner for answer in answers for inner in answer.get("parts") or ())]
    return Asked(
        system="\n".join(part["text"] for part in system.get("parts") or ()),
        texts=[part.body["text"] for part in found if part.role == "user" and part.body.get("text")],
        results=[_result(answer["response"]) for answer in answers],
        tools=[function["name"] for _, function in functions(request)],
        schemas={function["name"]: _parameters(function) for _, function in functions(request)},
        thoughts=[thought for part in found for thought in _thoughts(part.body)],
        images=[part["inlineData"]["data"] for part in pictures if _is_image(part)],
        searches=[query for part in found for query in _queries(part.body)],
    )


def searches(request: Request) -> bool:
    """Whether the model may search the web itself."""
    return any("googleSearch" in tool for tool in normal(request).get("tools") or ())


def shows_searches(request: Request) -> bool:
    """Whether what it does with the provider's own tools comes back as parts."""
    return bool((normal(request).get("toolConfig") or {}).get("includeServerSideToolInvocations"))


def _queries(part: Json) -> list[str]:
    return list(part["toolCall"]["args"]["queries"]) if "toolCall" in part else []


def _parameters(function: Json) -> Json:
    return function.get("parameters") or function.get("parametersJsonSchema") or {}


def _result(response: Json) -> str:
    """The text of a result: itself, or its JSON."""
    only = response.get("content")
    return only if isinstance(only, str) and len(response) == 1 else to_json(response).decode()


def _thoughts(part: Json) -> list[str]:
    hidden = unhide(part.get("thoughtSignature") or "")
    return [] if hidden is None else list(from_json(hidden[0]))


def _is_image(part: Json) -> bool:
    return str((part.get("inlineData") or {}).get("mimeType")).startswith("image/")


def reply(request: Request, said: Says, number: int) -> Reply:
    """An answer, streamed if that was asked for."""
    made = _parts(request, said, number)
    if ":streamGenerateContent" not in request.path:
        return Reply([to_json(_body(request, said, number, made, end=True))])
    events = [_body(request, said, number, [piece], end=False) for part in made for piece in _pieces(part)]
    events.append(_body(request, said, number, [{"text": ""}], end=True))
    return Reply([b"data: " + to_json(event) + b"\r\n\r\n" for event in events], "text/event-stream", streamed=True)


def problem(refused: Refused) -> Json:
    """An error in Google's form."""
    status = "NOT_FOUND" if refused.status == 404 else "INVALID_ARGUMENT"
    return {"error": {"code": refused.status, "message": refused.message, "status": status}}


def _body(request: Request, said: Says, number: int, made: Sequence[Json], *, end: bool) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": list(made)}}
    if end:
        candidate["finishReason"] = _STOPS[said.ends]
    if end and said.searches and searches(request):
        pages = [{"web": {"uri": f"https://example.org/{each.query}", "title": each.query}} for each in said.searches]
        candidate["groundingMetadata"] = {
            "webSearchQueries": [each.query for each in said.searches],
            "groundingChunks": pages,
        }
    model = request.path.removeprefix("/models/").split(":")[0]
    return {
        "candidates": [candidate],
        "usageMetadata": _usage(said),
        "modelVersion": model,
        "responseId": f"response-{number}",
    }


def _usage(said: Says) -> Json:
    used = said.usage
    return {
        "promptTokenCount": used.input,
        "cachedContentTokenCount": used.cached,
        "thoughtsTokenCount": used.reasoning,
        "candidatesTokenCount": used.output - used.reasoning,
        "totalTokenCount": used.input + used.output,
    }


def _parts(request: Request, said: Says, number: int) -> list[Json]:
    shown = said.thinking if thinks(request) else ()
    made: list[Json] = [{"text": thought.text, "thought": True} for thought in shown if not thought.redacted]
    made += [part for search in said.searches for part in _searched(search.query)] if shows_searches(request) else []
    text = said.text or said.refusal
    if text:
        made.append({"text": text})
    first = len(made)
    made += [_call(call, number, index, named=signs(request)) for index, call in enumerate(said.calls)]
    if signs(request) and made:  # the first call carries the signature, or else the last part
        made[min(first, len(made) - 1)]["thoughtSignature"] = _signature(said)
    return made


def _searched(query: str) -> Iterator[Json]:
    """A search of the provider's own, and what it has found."""
    place = {"id": search_id(query), "toolType": "GOOGLE_SEARCH_WEB"}
    yield {"toolCall": {**place, "args": {"queries": [query]}}, "thoughtSignature": hide("[]", 0, 1)}
    yield {"toolResponse": {**place, "response": {"search_suggestions": query}}, "thoughtSignature": hide("[]", 0, 1)}


def search_id(query: str) -> str:
    """The id of the search for something."""
    return signed(query)[:8]


def _signature(said: Says) -> str:
    """All thinking of an answer, for nobody but the provider."""
    return hide(to_json([thought.text for thought in said.thinking]).decode(), 0, 1)


def _call(call: Call, number: int, index: int, *, named: bool) -> Json:
    made: Json = {"name": call.name, "args": _object(call)}
    if call.id is not None or named:
        made["id"] = call.id if call.id is not None else b64encode(f"{number}.{index}".encode()).decode().rstrip("=")
    return {"functionCall": made}


def _object(call: Call) -> Json:
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    try:
        found = from_json(call.arguments)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _pieces(part: Json) -> Iterator[Json]:
    """A text in pieces, its signature on the last; a call whole."""
    if "text" not in part:
        yield part
        return
    rest = {key: value for key, value in part.items() if key not in ("text", "thoughtSignature")}
    *early, last = [*pieces(part["text"])] or [""]
    for piece in early:
        yield {**rest, "text": piece}
    yield {**part, "text": last}
