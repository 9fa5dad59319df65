"""Laws of compaction: whatever a compaction says, what has to stay stays, and what people read is whole."""

from collections.abc import Sequence
from typing import Any

from anyio import run
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.context._long import Digger, digger, is_paired

from stagepost.agents import (
    AssistantMessage,
    ChatMessage,
    ClearResults,
    ContextPolicy,
    ContextTooLong,
    Cut,
    KeepLast,
    ModelRequest,
    ModelResponse,
    Summarize,
    ToolCall,
    ToolMessage,
    UserMessage,
    Window,
    call,
)
from stagepost.agents._context._compacting import Compacting
from stagepost.agents._context._counting import Tally
from stagepost.agents._context._shown import Shown
from stagepost.agents._context._steps import allowed, unread
from stagepost.agents._context._view import VIEW, View
from stagepost.agents._models._litellm._pairing import Exchange, conversation

INDICES = st.lists(st.integers(-3, 60), max_size=60)
CUTS = st.builds(Cut, drop=INDICES, clear=INDICES, summarize=st.booleans())


@st.composite
def transcripts(draw: st.DrawFn) -> list[ChatMessage]:
    """A request, and then anything that a run can have: answers, calls with all or some results, other messages."""
    said: list[ChatMessage] = [UserMessage(text="first request")]
    for turn in range(draw(st.integers(0, 8))):
        match draw(st.sampled_from(["calls", "open", "text", "user"])):
            case "text":
                said.append(AssistantMessage(text=f"answer {turn}"))
            case "user":
                said.append(UserMessage(text=f"request {turn}"))
            case kind:
                calls = tuple(
                    ToolCall(id=f"c{number}", name="dig", arguments="{}") for number in range(draw(st.integers(1, 3)))
                )
                said.append(AssistantMessage(calls=calls))
                answered = calls if kind == "calls" else calls[: draw(st.integers(0, len(calls) - 1))]
                said += [
                    ToolMessage(call_id=each.id, tool="dig", text="x" * draw(st.integers(0, 3_000)))
                    for each in answered
                ]
                said += [UserMessage(text=f"news {turn}")] * draw(st.integers(0, 1))
    return said


class Saying:
    """A compaction that says what it is told to."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut

    def cut(self, window: Window) -> Cut:
        return self._cut if window.messages else Cut()


def open_calls(messages: Sequence[ChatMessage]) -> list[AssistantMessage]:
    """Answers with a call that has no result."""
    exchanges = [said for said in conversation(messages) if isinstance(said, Exchange)]
    return [
        said.answer
        for said in exchanges
        if any(result.text == "There is no result of this call." for result in said.results)
    ]


def compacted(said: list[ChatMessage], policy: ContextPolicy, request: int, limit: int) -> Compacting:
    tally = Tally()
    shown = Shown(View(request=request), policy.result_limit)
    shown.grow(said)
    return Compacting("a", policy, said, shown, tally, request=request)


@given(transcripts(), CUTS, st.data())
def test_what_has_to_stay_stays_whatever_a_compaction_says(
    said: list[ChatMessage], cut: Cut, data: st.DataObject
) -> None:
    requests = [index for index, message in enumerate(said) if isinstance(message, UserMessage)]
    request = data.draw(st.sampled_from(requests))
    policy = ContextPolicy(compact=[Saying(cut)], limit=10, result_limit=600)
    work = compacted(said, policy, request, 10)
    whole = list(said)
    view = work.make_room(10)
    if view.due is not None:
        view = view.without(view.due.places, view.due.answers)
    shown = Shown(view, 600)
    shown.grow(said)
    seen = shown.messages
    places = [place for place in shown.places if place >= 0]
    assert said == whole
    assert places == sorted(set(places))
    assert seen[0].text[:100] == said[0].text[:100]
    assert request in places
    assert [said[place] for place in places if place >= unread(said)] == said[unread(said) :]
    for answer in open_calls(said):
        assert answer in seen
    assert open_calls([said[place] for place in places]) == open_calls(said)
    calls = {place: said[place] for place in places if isinstance(said[place], AssistantMessage)}
    assert view.answers == sum(isinstance(each, AssistantMessage) for each in said) - len(calls)
    assert VIEW.load(VIEW.dump(view, "view")) == view


@given(transcripts(), CUTS)
def test_a_result_is_never_shown_without_its_call_nor_a_call_without_its_result(
    said: list[ChatMessage], cut: Cut
) -> None:
    done = allowed(said, cut, {0})
    left = [message for index, message in enumerate(said) if index not in done.drop]
    before = [(said.answer, list(said.results)) for said in conversation_of(said)]
    after = [(said.answer, list(said.results)) for said in conversation_of(left)]
    assert all(each in before for each in after)
    assert [each.text for each in lone(left)] == [] or lone(said)


def conversation_of(messages: Sequence[ChatMessage]) -> list[Exchange]:
    return [said for said in conversation(messages) if isinstance(said, Exchange)]


def lone(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Results that stand for no call."""
    return [
        said for said in conversation(messages) if isinstance(said, UserMessage) and said.text.startswith("Result of")
    ]


@given(transcripts(), st.integers(0, 3))
def test_what_a_provider_refuses_gets_smaller_until_nothing_more_may_be_left_out(
    said: list[ChatMessage], tries: int
) -> None:
    work = compacted(said, ContextPolicy(result_limit=2_000), 0, 10)
    before = work.total
    for _ in range(10):
        view = work.after_refusal(None)
        if view is None:
            break
        assert work.total <= before + 60  # a note may stand for less than it takes
        before = work.total
    else:
        raise AssertionError("it never ends")


COMPACTIONS = st.lists(
    st.one_of(
        st.builds(KeepLast, turns=st.none() | st.integers(1, 6), messages=st.none() | st.integers(1, 12)),
        st.builds(ClearResults, keep=st.integers(0, 4)),
        st.builds(Summarize, keep_turns=st.none() | st.integers(1, 6)),
        st.builds(Saying, CUTS),
    ),
    min_size=1,
    max_size=3,
)


@given(COMPACTIONS, st.integers(200, 3_000), st.none() | st.integers(2, 20), st.integers(1, 14), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_history_is_whole_and_each_prompt_is_sound(
    compact: list[Any],
    limit: int,
    messages: int | None,
    times: int,
    counts: bool,  # noqa: FBT001  # drawn
) -> None:
    async def main() -> None:
        model = Digger(times, counts=counts)
        policy = ContextPolicy(limit=limit, messages=messages, compact=compact, result_limit=500)
        result = await digger(model, policy).run("the request")
        assert result.output == "done"
        assert [message.role for message in result.messages] == ["user", *["assistant", "tool"] * times, "assistant"]
        assert all(len(message.text) > 400 for message in result.messages if isinstance(message, ToolMessage))
        for request in model.requests:
            assert request.messages[0].text == "Dig deep."
            assert request.messages[1].text == "the request"
            assert is_paired(request.messages)
        assert len(model.requests) == times + 1

    run(main)


@given(st.integers(1, 6), st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_a_refused_prompt_is_asked_again_and_never_more_than_three_times(room: int, times: int) -> None:
    """The provider takes so many messages; nobody knows before."""

    async def main() -> None:
        inner = Digger(times)
        asked: list[int] = []

        class Small:
            async def answer(self, request: ModelRequest) -> ModelResponse:
                asked.append(len(request.messages))
                if len(request.messages) > room + 4:
                    raise ContextTooLong("small", "too long")
                return await inner.answer(request)

        result = await digger(Small(), None).run("the request")
        assert result.output == "done"
        assert len(asked) <= 4 * (times + 1)
        assert all(is_paired(request.messages) for request in inner.requests)

    run(main)


_ = call
