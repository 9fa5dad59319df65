"""From parts to events: text that is taken back, cuts within a part, and ids that nobody has sent."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.supervisor._shop import text_of

from stagepost.agents import (
    AgentStarted,
    Gap,
    MessageSaid,
    StreamPart,
    TaskCancelled,
    TaskCompleted,
    TokenArrived,
    ToolCalled,
)
from stagepost.service.supervisor import ChatEvent, InvalidEventId, response_of
from stagepost.service.supervisor._progress import OpenCall, TurnProgress, event_id, read_event_id
from stagepost.service.supervisor._telling import Telling

SESSION = "3f2b8c1e-0d4a-4c57-9d0b-6a8f1e2d3c4b"
COMMON: dict[str, Any] = {"timestamp": datetime(2026, 1, 1, tzinfo=UTC), "task_id": "t", "path": ("supervisor",)}


def pieces(text: str) -> list[StreamPart]:
    return [TokenArrived(**COMMON, token=token, index=at) for at, token in enumerate(text.split("|")) if token]


def said(text: str, cursor: str = "c") -> MessageSaid:
    return MessageSaid(**COMMON, cursor=cursor, seq=1, role="assistant", text=text)


def called(cursor: str = "c") -> ToolCalled:
    return ToolCalled(
        **COMMON, cursor=cursor, seq=1, call_id="x", name="look", arguments="{", phrase="", tool_call_id="x"
    )


def told(parts: list[StreamPart], progress: TurnProgress | None = None) -> list[ChatEvent]:
    telling = Telling(SESSION, progress or TurnProgress(0))
    return [event for part in parts for event in telling.tell(part)]


@pytest.mark.parametrize(
    ("again", "has_reset"), [("It |is |28.", False), ("Now |it |is |30.", True), ("No.", True)], ids=str
)
def test_text_that_a_model_takes_back_is_void_for_readers(again: str, has_reset: bool) -> None:  # noqa: FBT001  # a fact of the table
    whole = again.replace("|", "")
    events = told([*pieces("It |is "), *pieces(again), said(whole)])
    assert ("token_reset" in [event.name for event in events]) is has_reset
    assert text_of(events) == response_of(events, ()).response == whole


def test_what_agents_below_a_worker_do_is_not_told_nor_calls_that_nobody_has_made() -> None:
    deep = {**COMMON, "path": ("supervisor", "weather", "scout")}
    started = AgentStarted(**COMMON, cursor="c", seq=1, call_id="unknown", agent="weather")
    assert told([started, MessageSaid(**deep, cursor="d", seq=0, role="user", text="Look.")]) == []


def test_text_that_becomes_a_call_is_void() -> None:
    events = told([said("First.", "a"), *pieces("Then "), called()])
    assert [event.name for event in events] == ["token", "token", "token_reset", "tool_call"]
    assert text_of(events) == "First."
    assert events[-1].data["args"] == {"text": "{"}


def test_thinking_alone_makes_begun_text_void() -> None:
    assert text_of(told([*pieces("Well "), said("")])) == ""


def test_of_an_answer_with_missing_pieces_the_rest_comes_with_the_message() -> None:
    gap = Gap(**COMMON, from_=1, to=1)
    parts = [*pieces("It "), gap, *pieces("||28."), said("It is 28.")]
    assert [event.data["content"] for event in told(parts)] == ["It ", "is 28."]


def test_a_message_and_a_reset_of_one_part_may_be_cut_apart() -> None:
    begun = told(pieces("It |is "))
    (reset, token) = told([said("No.")], read_event_id(begun[-1].id))
    assert (reset.name, token.name) == ("token_reset", "token")
    assert [event.data["content"] for event in told([said("No.")], read_event_id(reset.id))] == ["No."]
    assert told([said("No.")], read_event_id(reset.id))[0].id == token.id


def test_a_cancelled_turn_ends_with_an_error() -> None:
    (event,) = told([TaskCancelled(**COMMON, cursor="c")])
    assert (event.name, event.is_last, event.progress) == ("error", True, None)


words = st.lists(st.text("ab ü€😀", min_size=1, max_size=3), min_size=1, max_size=5)


@given(st.lists(words, min_size=1, max_size=4), st.data())
def test_whoever_is_cut_off_anywhere_and_joins_again_has_the_whole_text(answers: list[list[str]], data: Any) -> None:
    """A reader that joins gets the messages after its cursor, and all pieces so far of the next answer as one."""
    events: list[ChatEvent] = []
    stored: list[StreamPart] = []

    def connect(begun: list[str], heard: list[str]) -> None:
        """Come back when some pieces have come, hear some more, and be cut off."""
        progress = read_event_id(events[-1].id) if events else TurnProgress(0)
        known = [part.cursor for part in stored]
        missed = stored[known.index(progress.cursor) + 1 :] if progress.cursor else stored
        joined = [TokenArrived(**COMMON, token="".join(begun), index=0)] if begun else []
        rest = [TokenArrived(**COMMON, token=token, index=at) for at, token in enumerate(heard, len(begun))]
        events.extend(told([*missed, *joined, *rest], progress))

    for number, answer in enumerate(answers):
        one, other = sorted((data.draw(st.integers(0, len(answer))), data.draw(st.integers(0, len(answer)))))
        connect(answer[:one], answer[one:other])
        connect(answer[:other], answer[other:] if data.draw(st.booleans()) else [])
        stored.append(said("".join(answer), f"c{number}"))
    stored.append(TaskCompleted(**COMMON, cursor="end", result=""))
    connect([], [])
    assert text_of(events) == "\n\n".join("".join(answer) for answer in answers)
    assert [event.data["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1].name == "done"


def test_an_id_says_what_was_told() -> None:
    progress = TurnProgress(3, "c-1", 4, 2, 10, 5, 99, {"x": OpenCall(2, "ask_weather_agent", "v", 1.5)})
    assert read_event_id(event_id(progress)) == progress


@pytest.mark.parametrize("given", ["", "x", "WzFd", "é", "A" * 50_000, "W10", "eyJhIjoxfQ"], ids=range(7))
def test_an_id_that_nobody_has_sent_is_refused(given: str) -> None:
    with pytest.raises(InvalidEventId):
        read_event_id(given)
