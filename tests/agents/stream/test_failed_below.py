"""What an agent below tells of a turn that fails comes before the end of that agent, or not at all."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stagepost.agents._live._told import Piece, TurnBegun
from stagepost.agents._stream._merging import Merging
from stagepost.agents._stream._part import StreamPart
from stagepost.agents._stream._parts import AgentFinished, AgentStarted, ToolReturned
from stagepost.agents._stream._standing import Standing
from stagepost.workflows import Told

NOW = datetime(2026, 11, 23, tzinfo=UTC)
BELOW = "t.below-0-0-0"
PATH = ("lead", "below")
RUNS = {"t": Standing(("lead",), 1), BELOW: Standing(PATH, 0)}
TOLD = (
    Told(BELOW, "infer", TurnBegun("below", PATH, 0)),
    Told(BELOW, "infer", Piece("below", PATH, 0, 0, "I am", "text")),
)


def parts() -> list[StreamPart]:
    """An agent that has failed, as one read brings it."""
    common: dict[str, Any] = {"timestamp": NOW, "task_id": "t", "path": ("lead",), "seq": 2, "call_id": "c"}
    run = {**common, "visit": BELOW[2:]}
    return [
        AgentStarted(**run, agent="below"),
        AgentFinished(**run, agent="below", status="failed", error="never"),
        ToolReturned(**common, name="message_agent", result="", tool_call_id="c", success=False),
    ]


@pytest.fixture
def merging() -> Merging:
    """The merging of a reader that has read up to the call."""
    made = Merging("t", NOW.timestamp)
    made.read([], {"t": RUNS["t"]})
    return made


def test_what_was_told_before_the_read_comes_before_the_end_of_the_agent(merging: Merging) -> None:
    merging.hear(TOLD)
    kinds = [part.type for part in merging.read(parts(), RUNS)]
    assert kinds == ["agent_started", "turn", "token", "agent_finished", "tool_result"]


def test_what_is_told_after_the_read_is_obsolete(merging: Merging) -> None:
    assert [part.type for part in merging.read(parts(), RUNS)] == ["agent_started", "agent_finished", "tool_result"]
    merging.hear(TOLD)
    assert list(merging.flush()) == []
    merging.hear(TOLD)
    assert list(merging.read([], {"t": RUNS["t"]})) == []


def test_what_is_told_after_a_ring_that_came_since_the_read_began_is_obsolete_with_the_next_one(
    merging: Merging,
) -> None:
    kinds = [part.type for part in merging.read(parts(), RUNS, TOLD)]
    assert kinds == ["agent_started", "agent_finished", "tool_result"]
    assert list(merging.read([], {"t": RUNS["t"]})) == []
