"""What a client may rely on, whatever becomes of the server: each law raises what breaks it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tests.agents.stream._clients import Event, Heard
from tests.agents.stream._world import FRAIL

from stagepost.agents import (
    AgentFinished,
    AgentStarted,
    AssistantMessage,
    ChatMessage,
    PartKey,
    StreamPart,
    ToolMessage,
    part_from_dict,
)

Keys: TypeAlias = Sequence[PartKey]
ENDS = ("completed", "error", "cancelled")


def check(heard: Heard, again: Sequence[StreamPart], transcripts: Mapping[str, Sequence[ChatMessage]]) -> None:
    """Hold what a client was told against the laws.

    Args:
        heard: That.
        again: What is told, after its end, to who reads from the start.
        transcripts: The messages of the runs, as they are stored, by the runs' ids.
    """
    told = [part_from_dict(event.data) for event in heard.events]
    _numbered_have_ids(heard.events, told)
    _once(told)
    _as_read_again(told, again)
    _as_stored(told, transcripts)
    _ends(told, is_frail=heard.text.startswith(FRAIL))
    _children_in_their_place(told)
    _children_in_their_place(again)


def _numbered_have_ids(events: Sequence[Event], told: Sequence[StreamPart]) -> None:
    for event, part in zip(events, told, strict=True):
        assert (event.name, event.id) == (part.type, part.cursor)
        assert (part.cursor is not None) is part.is_numbered, part


def _once(told: Sequence[StreamPart]) -> None:
    often = {key: times for key, times in Counter(numbered(told)).items() if times > 1}
    assert not often, "told more than once"
    cursors = [part.cursor for part in told if part.cursor is not None]
    assert len(set(cursors)) == len(cursors), "cursors only go forward"


def _as_read_again(told: Sequence[StreamPart], again: Sequence[StreamPart]) -> None:
    """The same parts, with the same content, but for an end that was taken back since."""
    first, second = _contents(told), _contents(again)
    taken_back = {key for key in first if key not in second}
    assert {key.type for key in taken_back} <= {"error"}
    assert len(taken_back) <= 1
    assert {key: first[key] for key in first if key not in taken_back} == second


def _contents(parts: Sequence[StreamPart]) -> dict[PartKey, dict[str, Any]]:
    return {
        part.key: {name: value for name, value in part.to_dict().items() if name not in ("timestamp", "cursor")}
        for part in parts
        if part.cursor is not None
    }


def _as_stored(told: Sequence[StreamPart], transcripts: Mapping[str, Sequence[ChatMessage]]) -> None:
    """A part for each call and for each result of all transcripts, however they were told."""
    calls = Counter(
        (call.name, call.id)
        for messages in transcripts.values()
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.calls
    )
    results = Counter(
        (message.call_id, message.text[:1_000])
        for messages in transcripts.values()
        for message in messages
        if isinstance(message, ToolMessage)
    )
    found = [part.to_dict() for part in told]
    assert Counter((part["name"], part["tool_call_id"]) for part in found if part["type"] == "tool_call") == calls
    assert Counter((part["tool_call_id"], part["result"]) for part in found if part["type"] == "tool_result") == results


def _ends(told: Sequence[StreamPart], *, is_frail: bool) -> None:
    ends = [part.type for part in told if part.type in ENDS]
    assert ends == (["error", "completed"] if is_frail else ["completed"])
    assert told[-1].type == "completed"


def _children_in_their_place(parts: Sequence[StreamPart]) -> None:
    """Each run below: its parts between those that begin and end it, and these between the call and its result."""
    places = [
        (number, part, part.visit.partition("#")[0]) for number, part in enumerate(parts) if part.type not in ENDS
    ]
    for run in {visit for _, _, visit in places} - {""}:
        of_run = [number for number, _, visit in places if visit == run]
        above, _, _ = run.rpartition(".")
        started, finished = parts[of_run[0]], parts[of_run[-1]]
        assert isinstance(started, AgentStarted), started
        assert isinstance(finished, AgentFinished), finished
        assert not any(isinstance(parts[number], AgentStarted | AgentFinished) for number in of_run[1:-1])
        assert all(len(parts[number].path) == len(started.path) + 1 for number in of_run[1:-1])
        caller = (started.path, started.call_id, above)
        of_call = [(number, part) for number, part, visit in places if (part.path, part.call_id, visit) == caller]
        assert any(part.type == "tool_call" for number, part in of_call if number < of_run[0])
        result = [number for number, part in of_call if part.type == "tool_result" and part.seq == started.seq]
        assert len(result) == 1
        assert of_run[-1] < result[0]


def numbered(parts: Sequence[StreamPart]) -> Keys:
    """The identities of the numbered parts."""
    return [part.key for part in parts if part.cursor is not None]


def goes_on_from(told: Sequence[StreamPart], number: int, rest: Sequence[StreamPart]) -> None:
    """Who goes on after one of the parts is told those that were told after it, and no others.

    Args:
        told: All that a client was told.
        number: After which one.
        rest: What is told after its cursor, once the task has ended.
    """
    after = [part for part in told[number + 1 :] if part.cursor is not None and part.type != "error"]
    assert Counter(numbered(rest)) == Counter(numbered(after))
