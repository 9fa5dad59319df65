"""For each rule on tools that Anthropic executes itself a request that breaks it, and one that does not."""

from collections.abc import Sequence
from typing import Final

from tests.agents.providers import _anthropic_served as served
from tests.agents.providers._anthropic_wire import sealed, search_id
from tests.agents.providers._rules import Json, Proof

_TOOL: Final[Json] = {"type": "web_search_20250305", "name": "web_search"}
_USER: Final[Json] = {"role": "user", "content": "hi"}


def _asked(*content: Json, last: Json = _USER) -> Json:
    messages = [_USER, {"role": "assistant", "content": list(content)}, _USER, {"role": "assistant", "content": "ho"}]
    return {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": [*messages, last], "tools": [_TOOL]}


def _search(query: str = "tides", of: str = "tides") -> Json:
    return {"type": "server_tool_use", "id": search_id(of), "name": "web_search", "input": {"query": query}}


def _found(query: str = "tides", encrypted: str = sealed("tides")) -> Json:
    result = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": encrypted}
    return {"type": "web_search_tool_result", "tool_use_id": search_id(query), "content": [result]}


_GOOD: Final = _asked(_search(), _found())

SERVED_PROOFS: Final[Sequence[Proof]] = (
    Proof(served.served_calls_have_results, _asked(_search()), _GOOD),
    Proof(served.served_results_have_calls, _asked(_found()), _GOOD),
    Proof(served.served_results_have_calls, _asked(_found(), _search()), _GOOD),
    Proof(served.served_content_is_unchanged, _asked(_search(query="waves"), _found()), _GOOD),
    Proof(served.served_content_is_unchanged, _asked(_search(), _found(encrypted="made up")), _GOOD),
)
