"""What providers write of an answer's end and of its cost, and how a stream brings the name of a tool."""

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from stagepost.agents import Usage
from stagepost.agents._models._litellm._counting import counted, number, price
from stagepost.agents._models._litellm._ending import Ending, ending
from stagepost.agents._models._litellm._gathering import Gathered, whole_name
from stagepost.agents._models._litellm._thinking import Blocks
from stagepost.agents._models._litellm._wire import Wire


@pytest.mark.parametrize(
    ("pieces", "name"),
    [
        (["look"], "look"),
        (["get_", "weather"], "get_weather"),
        (["g", "et", "_weather"], "get_weather"),
        (["look", "look", "look"], "look"),
        (["get", "get_wea", "get_weather"], "get_weather"),
        (["go", "go"], "gogo"),
        (["un", "known"], "unknown"),
        ([], ""),
    ],
    ids=["whole", "pieces", "letters", "again", "growing", "twice", "unknown", "none"],
)
def test_a_name_that_comes_in_pieces_is_whole(pieces: list[str], name: str) -> None:
    known = {"gogo", "get_weather", "look"}
    assert whole_name(pieces, known) == name
    gathered = Gathered(known=known)
    for piece in pieces:
        gathered.add({"tool_calls": [{"index": 0, "id": "a", "function": {"name": piece, "arguments": ""}}]})
    assert [call.name for call in gathered.calls(0)] == ([name] if pieces else [])


def test_arguments_and_text_may_come_as_they_are_not_meant_to() -> None:
    gathered = Gathered()
    gathered.add(
        {
            "content": [{"type": "text", "text": "It is "}, "?"],
            "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}],
        }
    )
    gathered.add({"content": 7, "tool_calls": [{"index": 0, "function": None}]})
    assert gathered.text == "It is "
    assert [call.arguments for call in gathered.calls(0)] == ['{"a":1}']


def test_blocks_of_thinking_end_by_their_signature() -> None:
    blocks = Blocks()
    blocks.add([{"type": "thinking", "thinking": "a"}, {"type": "thinking", "thinking": "b", "signature": None}])
    blocks.add(
        [
            {"type": "thinking", "thinking": "", "signature": "S1"},
            {"type": "thinking", "thinking": "", "signature": "S2"},
        ]
    )
    blocks.add([{"type": "thinking", "thinking": "lost"}, {"type": "redacted_thinking", "data": "H"}])
    blocks.add([{"type": "thinking", "thinking": "cut"}])
    assert [(one.get("thinking"), one.get("signature"), one.get("data")) for one in blocks.all()] == [
        ("ab", "S1", None),
        ("", "S2", None),
        (None, None, "H"),
    ]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("stop", "done"),
        ("STOP", "done"),
        (None, "done"),
        ("tool_use", "calls"),
        ("pause_turn", "goes-on"),
        ("MALFORMED_FUNCTION_CALL", "goes-on"),
        ("max_tokens", "too-long"),
        ("SAFETY", "refused"),
        ("error", "cut"),
        ("whatever", "unknown"),
    ],
)
def test_what_the_end_of_an_answer_means(reason: str | None, kind: Ending) -> None:
    assert ending(reason) == kind


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (7, 7),
        ("7", 7),
        (7.9, 7),
        ("7.5", 7),
        (-1, 0),
        (None, 0),
        ("many", 0),
        ([], 0),
        (float("nan"), 0),
        (float("inf"), 0),
        (10**400, 0),
    ],
)
def test_a_count_is_a_number_whatever_it_was(given: object, expected: int) -> None:
    assert number(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"), [(0.5, 0.5), ("0.5", 0.5), (-1, None), ("free", None), (None, None), (float("nan"), None)]
)
def test_a_price_is_known_or_not(given: object, expected: float | None) -> None:
    assert price(given) == expected


def test_a_count_has_what_came_from_the_cache_and_what_was_thought() -> None:
    usage = SimpleNamespace(
        prompt_tokens=10,
        completion_tokens=5,
        total_tokens=15,
        prompt_tokens_details={"cached_tokens": 6, "cache_creation_tokens": 3},
        completion_tokens_details=SimpleNamespace(reasoning_tokens=99),
    )
    assert counted(usage, 0.5) == Usage(
        input_tokens=10, output_tokens=5, cost=0.5, cached_tokens=6, cache_writes=3, reasoning_tokens=5
    )
    assert counted({"total_tokens": 9}, None) == Usage(input_tokens=9)


def read(said: Any) -> tuple[Any, Wire]:
    wire = Wire()
    return from_json(wire.whole(to_json(said))), wire


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"prompt_tokens": 1.5, "completion_tokens": "3"}, {"prompt_tokens": 1, "completion_tokens": 3}),
        ({"prompt_tokens": 2.0, "total_tokens": None}, {"prompt_tokens": 2}),
        ({"prompt_tokens": -3, "completion_tokens": {}}, {"prompt_tokens": 0, "completion_tokens": 0}),
        ({"prompt_tokens": 5, "prompt_tokens_details": "x"}, {"prompt_tokens": 5}),
        ({"prompt_tokens_details": {"cached_tokens": "3"}}, {"prompt_tokens_details": {"cached_tokens": 3}}),
        ({"cost": "free", "service_tier": "standard"}, {"service_tier": "standard"}),
        ("none", None),
        ([1], None),
        (7, None),
    ],
    ids=str,
)
def test_a_count_that_litellm_cannot_read_is_made_readable(given: object, made: object) -> None:
    said, wire = read({"choices": [{"finish_reason": "stop"}], "usage": given})
    assert said["usage"] == made
    assert (wire.reason, wire.is_read) == ("stop", True)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"type": "message", "content": []}, "usage"),
        ({"type": "message", "usage": None}, "usage"),
        ({"candidates": []}, "usageMetadata"),
        ({"candidates": [], "usageMetadata": None}, "usageMetadata"),
        ({"output": {"message": {}}, "stopReason": "end_turn"}, "usage"),
    ],
    ids=["anthropic", "anthropic-none", "gemini", "gemini-none", "bedrock"],
)
def test_a_count_that_litellm_cannot_do_without_is_there(said: Any, name: str) -> None:
    assert isinstance(read(said)[0][name], dict)


def test_what_can_be_read_is_left_as_it_is() -> None:
    for body in (
        b'{"usage": {"prompt_tokens": 1},  "a": 1.0}',
        b"no JSON",
        b"[1]",
        b'{"object":"response","output":[]}',
    ):
        assert Wire().whole(body) is body


def test_a_stream_of_events_is_read_line_by_line() -> None:
    wire = Wire()
    counted, ended = b'data: {"usage":{"prompt_tokens":"7"}}', b'data: {"delta":{"stop_reason":"pause_turn"}}'
    events = b"event: a\n" + counted + b"\n\n: ping\n" + ended + b"\ndata: [DONE]"
    got = b"".join([*(wire.lines(events[place : place + 5]) for place in range(0, len(events), 5)), wire.rest()])
    assert got == events.replace(b'"7"', b"7")
    assert wire.reason == "pause_turn"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"candidates": [{"finishReason": "STOP"}]}, "STOP"),
        ({"type": "message_start", "message": {"stop_reason": None}}, None),
        ({"messageStop": {"stopReason": "end_turn"}}, "end_turn"),
        ({"type": "response.completed", "response": {"object": "response", "status": "completed"}}, "completed"),
        (
            {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "max_output_tokens",
        ),
        ({"type": "response.created", "response": {"object": "response", "status": "in_progress"}}, None),
    ],
)
def test_the_reason_of_an_end_is_found_wherever_it_stands(said: Any, reason: str | None) -> None:
    assert read(said)[1].reason == reason
