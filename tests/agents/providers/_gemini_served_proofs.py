"""For each rule on tools that Google executes itself a request that breaks it, and one that does not."""

from collections.abc import Sequence
from typing import Any, Final

from tests.agents.providers import _gemini_served as served
from tests.agents.providers._gemini_wire import search_id
from tests.agents.providers._rules import Json, Proof
from tests.agents.providers._seals import hide

_THREE: Final = "/models/gemini-3-pro-preview:generateContent"
_FUNCTIONS: Final[Json] = {"functionDeclarations": [{"name": "look", "description": "Looks."}]}
_SEARCH: Final[Json] = {"googleSearch": {}}
_SHOWN: Final[Json] = {"toolConfig": {"includeServerSideToolInvocations": True}}
_SIGNED: Final[Json] = {"thoughtSignature": hide("[]", 0, 1)}


def _asked(*said: Json, tools: Sequence[Json] = (_SEARCH,), **fields: Any) -> Json:
    user = {"role": "user", "parts": [{"text": "hi"}]}
    contents = [user, {"role": "model", "parts": [*said, {"text": "ho"}]}, user]
    return {"contents": contents, "tools": list(tools), **fields}


def _call(query: str = "tides", **fields: Any) -> Json:
    return {"toolCall": {"id": search_id("tides"), "args": {"queries": [query]}}, **(fields or _SIGNED)}


def _response(query: str = "tides") -> Json:
    return {"toolResponse": {"id": search_id(query), "response": {}}, **_SIGNED}


_GOOD: Final = _asked(_call(), _response())

SERVED_PROOFS: Final[Sequence[Proof]] = (
    Proof(served.tools_may_be_mixed, _asked(tools=[_FUNCTIONS, _SEARCH], **_SHOWN), _asked(tools=[_FUNCTIONS])),
    Proof(
        served.mixed_tools_are_shown,
        _asked(tools=[_FUNCTIONS, _SEARCH]),
        _asked(tools=[_FUNCTIONS, _SEARCH], **_SHOWN),
        path=_THREE,
    ),
    *(
        Proof(served.served_parts_are_whole, _asked(*bad), _GOOD)
        for bad in (
            [_call()],
            [_response()],
            [_response(), _call()],
            [_call(query="waves"), _response()],
            [_call(), _response("waves")],
            [_call(thought=True), _response()],
        )
    ),
)
