"""What comes over the wire, made readable for litellm, which loses a paid answer over an odd count of its tokens.

Nothing else of an answer is touched. The reason of its end is noted as the provider has written it, since litellm has
no word for some of them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from pydantic_core import from_json, to_json

from ._counting import number, price
from ._edits import NO_EDITS, Edits
from ._served import Served

Json = dict[str, Any]

_COUNTS: Final = ("tokens", "token_count", "tokencount")  # ends of names of counts
_DETAILS: Final = "details"
_NAMES: Final = ("usage", "usageMetadata")
_INSIDE: Final = ("message", "response")
_DATA: Final = b"data:"

# What litellm cannot do without, by what an answer looks like.
_NEEDED: Final[tuple[tuple[str, Collection[str] | None, str, Json], ...]] = (
    ("type", ("message", "message_delta"), "usage", {"input_tokens": 0, "output_tokens": 0}),
    ("candidates", None, "usageMetadata", {}),
    ("output", None, "usage", {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}),
)


class Wire:
    """One answer on its way.

    Attributes:
        is_read: Whether any of it could be read here.
        reason: Why the answer has ended, in the provider's word; None if it does not say.
        refusal: Why the model does not want to answer, where litellm leaves that out.
        items: Items of reasoning of OpenAI's responses, of which litellm keeps only the last.
        served: What the provider's own tools leave in the answer.

    Args:
        edits: What is changed in the request.
    """

    def __init__(self, edits: Edits = NO_EDITS) -> None:
        self._edits = edits
        self.served = Served()
        self.is_read = False
        self.reason: str | None = None
        self.refusal = ""
        self.items: Sequence[Json] = ()
        self._rest = b""

    def asked(self, body: bytes) -> bytes:
        """A request, with what litellm has no word for."""
        return self._edits.apply(body)

    def whole(self, body: bytes) -> bytes:
        """A whole answer."""
        return self._readable(body)

    def lines(self, piece: bytes) -> bytes:
        """The lines of a stream of events that a piece of it completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        return b"".join(self._line(line) + b"\n" for line in lines)

    def rest(self) -> bytes:
        """What is left at the end of a stream."""
        return self._line(self._rest)

    def _line(self, line: bytes) -> bytes:
        if not line.startswith(_DATA):
            return line
        body = line[len(_DATA) :].strip()
        readable = self._readable(body)
        return line if readable is body else b"data: " + readable

    def _readable(self, body: bytes) -> bytes:
        said = _object(body)
        if said is None:
            return body
        self.is_read = True
        self.served.add(said)
        self.reason = _reason(said) or self.reason
        self.refusal = _refusal(said.get("response", said)) or self.refusal + _piece_of_refusal(said)
        self.items = _items(said.get("response", said)) or self.items
        repaired = _repaired(said)
        return body if repaired is said else to_json(repaired)


def _object(body: bytes) -> Json | None:
    try:
        said = from_json(body)
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _repaired(said: Json) -> Json:
    """An answer that litellm can read; the same object if it can read this one."""
    changes: Json = {}
    for name in _NAMES:
        if name in said and repr(usage := _usage(said[name])) != repr(said[name]):
            changes[name] = usage
    for key, kinds, name, default in _NEEDED:
        is_of_kind = key in said and (kinds is None or said[key] in kinds)
        if is_of_kind and _counts(said) and changes.get(name, said.get(name)) is None:
            changes[name] = default
    for name in _INSIDE:
        if isinstance(said.get(name), dict) and (inner := _repaired(said[name])) is not said[name]:
            changes[name] = inner
    return {**said, **changes} if changes else said


def _counts(said: Json) -> bool:
    """Whether an answer is to have a count: litellm can do without that of a response of OpenAI's."""
    return said.get("object") != "response"


def _usage(usage: Any) -> Json | None:
    if not isinstance(usage, dict):
        return None
    return {name: value for name, given in usage.items() if (value := _count(name, given)) is not None}


def _count(name: str, value: Any) -> Any:
    """A part of a count; None for what it cannot be."""
    if name.lower().endswith(_COUNTS):
        return None if value is None else number(value)
    if isinstance(value, dict):
        return _usage(value)
    if isinstance(value, list):
        return [_usage(each) for each in value if isinstance(each, dict)]
    if name.lower().endswith(_DETAILS):
        return None
    return price(value) if name == "cost" else value


def _reason(said: Mapping[str, Any]) -> str | None:
    """Why an answer has ended, wherever a provider writes that."""
    inner = [_first(said.get("choices")), _first(said.get("candidates")), said.get("delta"), said.get("message")]
    for holder in (said, *inner, said.get("messageStop")):
        if isinstance(holder, Mapping):
            for name in ("finish_reason", "finishReason", "stop_reason", "stopReason"):
                if isinstance(holder.get(name), str) and holder[name]:
                    return str(holder[name])
    return _response_reason(said.get("response", said))


def _response_reason(response: Any) -> str | None:
    """The same of a response of OpenAI's, once it has ended."""
    if not isinstance(response, Mapping) or response.get("object") != "response":
        return None
    details = response.get("incomplete_details")
    if isinstance(details, Mapping) and details.get("reason"):
        return str(details["reason"])
    return "completed" if response.get("status") == "completed" else None


def _refusal(response: Any) -> str:
    """What a response of OpenAI's says instead of an answer."""
    parts = [part for item in _output(response) for part in item.get("content") or () if isinstance(part, Mapping)]
    return "".join(str(part.get("refusal") or "") for part in parts if part.get("type") == "refusal")


def _items(response: Any) -> Sequence[Json]:
    """The items of reasoning of a response of OpenAI's."""
    return tuple(item for item in _output(response) if item.get("type") == "reasoning")


def _output(response: Any) -> Sequence[Json]:
    if not isinstance(response, Mapping) or response.get("object") != "response":
        return ()
    return [item for item in response.get("output") or () if isinstance(item, dict)]


def _piece_of_refusal(said: Mapping[str, Any]) -> str:
    """The same of a delta of chat completions."""
    choice = _first(said.get("choices"))
    delta = choice.get("delta") if isinstance(choice, Mapping) else None
    return str(delta.get("refusal") or "") if isinstance(delta, Mapping) else ""


def _first(given: Any) -> Any:
    return given[0] if isinstance(given, list) and given else None
