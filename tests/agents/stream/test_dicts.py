"""Parts become dicts and come back."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from stagepost.agents import (
    AgentFinished,
    AgentStarted,
    ApprovalAsked,
    ApprovalDecided,
    Compacted,
    DoubtRaised,
    DoubtSettled,
    Gap,
    HandedOver,
    InvalidPart,
    MessageSaid,
    PartialOutput,
    QuestionAnswered,
    QuestionAsked,
    StreamPart,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TokenArrived,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
    TurnBegan,
    part_from_dict,
)
from stagepost.agents._stream._parts import PARTS

AT = datetime(2026, 11, 23, 16, 0, 0, 250_000, tzinfo=UTC)
COMMON: Mapping[str, Any] = {
    "timestamp": AT,
    "task_id": "t",
    "seq": 7,
    "cursor": "6+7.1",
    "path": ("lead", "scout"),
    "call_id": "c1",
    "visit": "scout-0-1-0",
}
PARTS_SAID: tuple[StreamPart, ...] = (
    TurnBegan(**COMMON, iteration=0),
    MessageSaid(**COMMON, role="assistant", text="Hi", thinking="hm"),
    ToolCalled(**COMMON, name="look", arguments={"city": "Oslo"}, phrase="Looking...", tool_call_id="c1"),
    ToolCalled(**COMMON, name="look", arguments="{broken", phrase="Looking...", tool_call_id="c1"),
    ToolReturned(**COMMON, name="look", result="3", tool_call_id="c1", success=True),
    TokenArrived(**COMMON, token="H", index=0, kind="arguments", agent="scout", turn=2, tool="return"),  # noqa: S106  # a piece of text
    PartialOutput(**COMMON, output={"city": "Os"}),
    ToolProgressed(**COMMON, name="look", progress=0.5, total=1.0, message="half"),
    ApprovalAsked(**COMMON, approval_id="t/tool", tool="send", arguments={"to": "ann"}, reason="send_*"),
    ApprovalDecided(**COMMON, approval_id="t/tool", allowed=False, by="ann", reason="no"),
    QuestionAsked(
        **COMMON, question_id="t/tool", tool="price", arguments={}, schema={"type": "number"}, url="https://x"
    ),
    QuestionAnswered(**COMMON, question_id="t/tool", answer="answer", value=[1, None], by="ben"),
    DoubtRaised(**COMMON, doubt_id="t/tool", tool="pay", arguments={"sum": 5}),
    DoubtSettled(**COMMON, doubt_id="t/tool", by="ben"),
    AgentStarted(**COMMON, agent="scout", conversation_id="scout-0-1"),
    AgentFinished(**COMMON, agent="scout", conversation_id="scout-0-1", status="failed", error="why"),
    HandedOver(**COMMON, agent="refunds", by="triage"),
    Compacted(**COMMON, hidden=12, shortened=1, summary="before"),
    Gap(**COMMON, from_=3, to=9, generation=1),
    TaskCompleted(**COMMON, result={"city": "Oslo", "degrees": 3}),
    TaskFailed(**COMMON, error="why"),
    TaskCancelled(**COMMON),
)
PART = MessageSaid(**COMMON, role="user", text="Hi")


def test_each_type_is_among_the_examples() -> None:
    assert {type(part) for part in PARTS_SAID} == set(PARTS)


@pytest.mark.parametrize("part", PARTS_SAID, ids=lambda part: part.type)
def test_a_part_comes_back_from_its_dict(part: StreamPart) -> None:
    assert part_from_dict(part.to_dict()) == part
    assert part_from_dict(json.loads(json.dumps(part.to_dict()))) == part


@pytest.mark.parametrize("part", PARTS_SAID, ids=lambda part: part.type)
def test_a_part_says_what_it_is(part: StreamPart) -> None:
    told = part.to_dict()
    assert list(told)[:8] == ["type", "timestamp", "task_id", "seq", "cursor", "path", "call_id", "visit"]
    assert told["type"] == part.type
    assert told["timestamp"] == "2026-11-23T16:00:00.250000+00:00"


def test_types_differ() -> None:
    assert len({part.type for part in PARTS}) == len(PARTS)


def test_the_fields_of_a_gap_have_the_names_of_the_protocol() -> None:
    told = Gap(**COMMON, from_=3, to=9).to_dict()
    assert (told["from"], told["to"], "from_" in told) == (3, 9, False)


def test_parts_without_a_number_and_ends_say_so() -> None:
    assert {part.type for part in PARTS if not part.is_numbered} == {
        "turn", "token", "partial", "progress", "compacted", "gap",
    }  # fmt: skip
    assert {part.type for part in PARTS if part.is_last} == {"completed", "error", "cancelled"}


def test_a_time_is_read_in_utc() -> None:
    there = AT.astimezone(timezone(timedelta(hours=2)))
    part = part_from_dict({**PART.to_dict(), "timestamp": there.isoformat()})
    assert (part, part.timestamp.tzinfo) == (PART, UTC)


def test_keys_that_nobody_knows_are_ignored() -> None:
    assert part_from_dict({**PART.to_dict(), "later": 1}) == PART


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"type": "surprise"}, ["surprise", "tool_call"]),
        ({"type": None}, ["None", "tool_call"]),
        ({"text": None}, ["message", "text"]),
        ({"text": 5}, ["message", "text"]),
        ({"role": "king"}, ["message", "role"]),
        ({"seq": "7"}, ["message", "seq"]),
        ({"path": "lead"}, ["message", "path"]),
        ({"timestamp": "yesterday"}, ["message", "timestamp"]),
        ({"timestamp": "2026-11-23T16:00:00"}, ["message", "timestamp", "time zone"]),
        ({"text": object()}, ["message", "JSON"]),
    ],
)
def test_what_is_no_part_is_refused(change: Mapping[str, object], facts: list[str]) -> None:
    with pytest.raises(InvalidPart) as caught:
        part_from_dict({**PART.to_dict(), **change})
    assert all(fact in str(caught.value) for fact in facts)


def test_a_missing_field_is_named() -> None:
    gap = Gap(**COMMON, from_=3, to=9).to_dict()
    del gap["from"]
    with pytest.raises(InvalidPart, match=r"'gap'.*from: Field required") as caught:
        part_from_dict(gap)
    assert (caught.value.type, "from:" in caught.value.why) == ("gap", True)


def test_data_without_a_type_is_refused() -> None:
    with pytest.raises(InvalidPart, match="this data"):
        part_from_dict({})


def test_the_identity_leaves_out_what_may_differ() -> None:
    again = MessageSaid(**{**COMMON, "cursor": "8", "timestamp": AT + timedelta(days=1)}, role="user", text="Hi")
    assert again.key == PART.key
    assert again.idempotency_key == PART.idempotency_key == "t;lead/scout;7;message;c1;scout-0-1-0"


def test_identities_of_different_parts_differ_as_texts() -> None:
    odd = TaskFailed(timestamp=AT, task_id="a;b", path=("x/y",), call_id="é ;", error="")
    assert odd.idempotency_key == "a%3Bb;x%2Fy;;error;%C3%A9%20%3B;"
    assert odd.idempotency_key.isascii()
