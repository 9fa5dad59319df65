"""What a provider's own tools leave in an answer."""

from typing import Any

import pytest
from pydantic_core import to_json

from stagepost.agents import AssistantMessage, ChatMessage, ProviderContent, UserMessage
from stagepost.agents._models._litellm._edits import Edits
from stagepost.agents._models._litellm._provider import Provider
from stagepost.agents._models._litellm._served import Served, is_mark, mark, marks, without_contents

CLAUDE = Provider("anthropic", "anthropic/claude-sonnet-4-6")
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
TEXT = {"type": "text", "text": "Hi"}


def served(*events: dict[str, Any]) -> Served:
    made = Served()
    for event in events:
        made.add(event)
    return made


def delta(**fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": fields}


def started(**block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": block}


@pytest.mark.parametrize(
    ("events", "data"),
    [
        ([{"type": "message", "content": [TEXT]}], []),
        (
            [{"type": "message", "content": [SEARCH, TEXT, {"type": "tool_use", "id": "a"}]}],
            [{"content": [SEARCH, TEXT]}],
        ),
        (
            [
                started(type="thinking", thinking="", signature=""),
                delta(type="thinking_delta", thinking="Hm"),
                delta(type="signature_delta", signature="s"),
                started(**{**SEARCH, "input": {}}),
                delta(type="input_json_delta", partial_json='{"query"'),
                delta(type="input_json_delta", partial_json=': "x"}'),
                started(type="text", text="", citations=None),
                delta(type="text_delta", text="H"),
                delta(type="text_delta", text="i"),
                delta(type="of later"),
                started(type="text", text=""),
                delta(type="citations_delta", citation={"url": "u"}),
            ],
            [
                {
                    "content": [
                        {"type": "thinking", "thinking": "Hm", "signature": "s"},
                        SEARCH,
                        TEXT,
                        {"type": "text", "text": "", "citations": [{"url": "u"}]},
                    ]
                }
            ],
        ),
        (
            [started(**{**SEARCH, "input": {}}), delta(type="input_json_delta", partial_json="{")],
            [{"content": [{**SEARCH, "input": {}}]}],
        ),
        ([delta(type="text_delta", text="of no block")], []),
        ([{"object": "response", "output": [{"type": "message"}]}], []),
        (
            [
                {
                    "type": "response.completed",
                    "response": {"object": "response", "output": [{"type": "web_search_call"}]},
                }
            ],
            [{"content": [{"type": "web_search_call"}]}],
        ),
        (
            [
                {"candidates": [{"content": {"parts": [{"executableCode": {}}, {"functionCall": {}}]}}]},
                {"candidates": [{"content": {"parts": [{"text": "a"}, {"text": ""}]}, "groundingMetadata": {"a": 1}}]},
                {"candidates": [{"finishReason": "STOP"}]},
            ],
            [{"content": [{"executableCode": {}}, {"text": "a"}]}, {"grounding": {"a": 1}}],
        ),
        (
            [
                {"choices": [{"delta": {"annotations": [{"url": "u"}]}}]},
                {"choices": [{"delta": {"annotations": [{"url": "v"}]}}]},
                {"choices": []},
                {"choices": [{"delta": None}]},
            ],
            [{"annotations": [{"url": "u"}, {"url": "v"}]}],
        ),
    ],
    ids=["plain", "whole", "stream", "broken", "stray", "items", "items of a search", "parts", "annotations"],
)
def test_content_is_read_from_the_wire(events: list[dict[str, Any]], data: list[Any]) -> None:
    assert list(served(*events).data) == data


def test_calls_of_the_provider_are_known_by_their_ids() -> None:
    assert served({"type": "message", "content": [SEARCH, TEXT]}).calls == {"srvtoolu_1"}


def answer(provider: str = "anthropic", *content: Any) -> AssistantMessage:
    own = ProviderContent(provider=provider, model=CLAUDE.model, data=({"content": list(content)},))
    return AssistantMessage(text="Hi", provider=(own,))


def test_a_mark_stands_for_the_content_of_answers_of_this_provider_alone() -> None:
    said: list[ChatMessage] = [
        UserMessage(text="?"),
        answer("anthropic", SEARCH),
        answer("openai", TEXT),
        AssistantMessage(text="Yes"),
    ]
    assert marks(said, CLAUDE) == {mark([SEARCH]): [SEARCH]}
    assert is_mark(mark([SEARCH]))
    assert not is_mark("Hi")
    assert [each for each in without_contents(said) if isinstance(each, AssistantMessage) and each.provider] == []


@pytest.mark.parametrize(
    ("body", "edited"),
    [
        ({"messages": [{"content": "MARK"}]}, {"messages": [{"content": [SEARCH]}]}),
        ({"messages": [{"content": [{"text": "MARK"}, TEXT]}]}, {"messages": [{"content": [SEARCH, TEXT]}]}),
        ({"contents": [{"parts": [{"text": "MARK"}]}]}, {"contents": [{"parts": [SEARCH]}]}),
        ({"input": [{"role": "assistant", "content": "MARK"}]}, {"input": [SEARCH]}),
        ({"input": [{"role": "assistant", "content": [{"text": "MARK"}]}, "x"]}, {"input": [SEARCH, "x"]}),
        ({"input": "MARK"}, None),
        ({"messages": [{"content": [{"text": "other"}]}]}, None),
        (["MARK"], None),
        ("no JSON", None),
    ],
)
def test_contents_are_put_where_their_marks_are(body: Any, edited: Any) -> None:
    edits = Edits((), {"MARK": [SEARCH]})
    given = b"no JSON" if body == "no JSON" else to_json(body)
    assert edits.apply(given) == (given if edited is None else to_json(edited))
