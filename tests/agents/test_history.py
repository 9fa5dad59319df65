"""A transcript that goes on has a result for each call."""

from stagepost.agents import AssistantMessage, ChatMessage, ToolCall, ToolMessage, UserMessage
from stagepost.agents._loop._history import repaired


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage(calls=tuple(ToolCall(id=own, name="t", arguments="{}") for own in ids))


def result(call_id: str, text: str = "ok") -> ToolMessage:
    return ToolMessage(call_id=call_id, tool="t", text=text)


def missing(call_id: str) -> ToolMessage:
    return ToolMessage(call_id=call_id, tool="t", text="not called: the run ended before", is_error=True)


def test_whole_transcript_stays_as_it_is() -> None:
    whole: list[ChatMessage] = [UserMessage(text="hi"), asks("a", "b"), result("a"), result("b"), asks()]
    assert list(repaired(whole)) == whole


def test_calls_without_a_result_at_the_end_get_one() -> None:
    assert repaired([asks("a", "b"), result("a")])[1:] == (result("a"), missing("b"))


def test_calls_without_a_result_in_the_middle_get_one_before_anybody_else_speaks() -> None:
    later = UserMessage(text="and?")
    assert repaired([asks("a"), later]) == (asks("a"), missing("a"), later)


def test_result_belongs_to_the_last_call_of_its_name() -> None:
    assert repaired([asks("a"), result("a"), asks("a")]) == (asks("a"), result("a"), asks("a"), missing("a"))
