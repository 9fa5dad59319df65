"""What compactions leave out, and what their settings may be."""

from typing import Any

import pytest

from stagepost.agents import (
    Agent,
    Agents,
    AssistantMessage,
    ChatMessage,
    ClearResults,
    ContextPolicy,
    Cut,
    InvalidAgent,
    InvalidAgentData,
    InvalidCompaction,
    KeepLast,
    ScriptedModel,
    Summarize,
    ToolCall,
    ToolMessage,
    UserMessage,
    Window,
)
from stagepost.agents._context._steps import allowed, groups, unread


def step(number: int, text: str = "x" * 500) -> list[ChatMessage]:
    made = ToolCall(id=f"c{number}", name="dig", arguments="{}")
    return [AssistantMessage(calls=(made,)), ToolMessage(call_id=made.id, tool="dig", text=text)]


SAID: list[ChatMessage] = [UserMessage(text="go"), *(message for number in range(5) for message in step(number))]


def window(**options: Any) -> Window:
    return Window(messages=SAID, tokens=[10] * len(SAID), unread=unread(SAID), **options)


@pytest.mark.parametrize(
    ("compaction", "options", "dropped"),
    [
        (KeepLast(turns=2), {}, 7),
        (KeepLast(turns=9), {}, 0),
        (KeepLast(messages=4), {}, 7),
        (KeepLast(messages=99), {}, 0),
        (KeepLast(turns=4, messages=4), {}, 7),
        (KeepLast(), {"most_tokens": 50}, 6),
        (KeepLast(), {"most_tokens": 50, "beside": 30}, 9),
        (KeepLast(), {"most_tokens": 1}, 9),
        (KeepLast(), {"most_tokens": 1_000}, 0),
        (KeepLast(), {"most_messages": 5}, 6),
        (KeepLast(), {}, 0),
        (Summarize(keep_turns=1), {}, 9),
        (Summarize(), {"most_tokens": 50}, 6),
    ],
    ids=repr,
)
def test_the_oldest_are_left_out(compaction: Any, options: dict[str, int], dropped: int) -> None:
    cut = compaction.cut(window(**options))
    assert list(cut.drop) == list(range(dropped))
    assert cut.summarize is isinstance(compaction, Summarize)


@pytest.mark.parametrize(
    ("compaction", "options", "cleared"),
    [
        (ClearResults(keep=2), {"most_tokens": 1}, [2, 4, 6]),
        (ClearResults(keep=0), {"most_tokens": 1}, [2, 4, 6, 8, 10]),
        (ClearResults(keep=2), {"most_tokens": 95}, [2, 4]),
        (ClearResults(keep=2), {"most_tokens": 1_000}, []),
        (ClearResults(keep=9), {"most_tokens": 1}, []),
        (ClearResults(keep=2, longer_than=500), {"most_tokens": 1}, []),
    ],
    ids=repr,
)
def test_old_results_are_cleared_as_far_as_it_takes(
    compaction: ClearResults, options: dict[str, int], cleared: list[int]
) -> None:
    assert list(compaction.cut(window(**options)).clear) == cleared


def test_the_total_of_a_window_is_all_that_the_model_would_see() -> None:
    assert window(beside=7).total == 7 + 10 * len(SAID)


def test_an_answer_and_its_results_are_one_group() -> None:
    assert [each.all for each in groups(SAID)] == [(0,), (1, 2), (3, 4), (5, 6), (7, 8), (9, 10)]


def test_a_result_that_stands_alone_is_a_group_of_its_own_and_may_be_cleared() -> None:
    stray: list[ChatMessage] = [UserMessage(text="go"), ToolMessage(call_id="c", tool="dig", text="x"), *step(1)]
    assert [each.all for each in groups(stray)] == [(0,), (1,), (2, 3)]
    assert allowed(stray, Cut(clear=[1]), {0}).clear == [1]
    assert allowed(stray, Cut(drop=[1]), {0}).drop == [1]


def test_a_result_that_is_to_go_alone_is_cleared_and_an_answer_takes_its_results_with_it() -> None:
    assert allowed(SAID, Cut(drop=[2]), {0}) == ([], [2])
    assert allowed(SAID, Cut(drop=[1]), {0}) == ([1, 2], [])


@pytest.mark.parametrize("cut", [Cut(drop=range(99), clear=range(99)), Cut(drop=[-1, 0, 9, 10], clear=[10, 9, -5])])
def test_the_last_calls_with_their_results_stay(cut: Cut) -> None:
    done = allowed(SAID, cut, {0})
    assert not {0, 9, 10} & {*done.drop, *done.clear}


@pytest.mark.parametrize(
    ("said", "first"),
    [
        ([UserMessage(text="go")], 0),
        (SAID, 9),
        ([*SAID, AssistantMessage(text="done"), UserMessage(text="more")], 12),
        ([*SAID, AssistantMessage(text="wait")], 11),
        ([*SAID, UserMessage(text="news")], 9),
        ([], 0),
    ],
    ids=["request", "results", "follow-up", "goes on", "news", "nothing"],
)
def test_what_the_model_has_not_answered_is_known(said: list[ChatMessage], first: int) -> None:
    assert unread(said) == first


@pytest.mark.parametrize(
    "make",
    [
        lambda: ContextPolicy(limit=0),
        lambda: ContextPolicy(limit=True),
        lambda: ContextPolicy(limit="many"),  # type: ignore[arg-type]  # what is refused
        lambda: ContextPolicy(messages=1),
        lambda: ContextPolicy(result_limit=499),
        lambda: ContextPolicy(compact=[KeepLast]),  # type: ignore[list-item]  # what is refused
        lambda: ContextPolicy(compact="old"),  # type: ignore[arg-type]  # what is refused
        lambda: ContextPolicy(compact=KeepLast()),  # type: ignore[arg-type]  # what is refused
        lambda: ContextPolicy(compact=[object()]),  # type: ignore[list-item]  # what is refused
        lambda: KeepLast(turns=0),
        lambda: KeepLast(messages=0),
        lambda: ClearResults(keep=-1),
        lambda: ClearResults(longer_than=-1),
        lambda: Summarize(keep_turns=0),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(InvalidCompaction):
        make()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (20_000, "context=20000 is not a ContextPolicy"),
        (ContextPolicy(compact=[Summarize(model=object())]), "the model of Summarize=.* is not a model"),  # type: ignore[arg-type]  # what is refused
    ],
    ids=["a number", "no model"],
)
def test_an_agent_takes_nothing_else(given: Any, why: str) -> None:
    with pytest.raises(InvalidAgent, match=why):
        Agent("a", "A.", context=given)


def test_a_policy_is_described_and_can_be_data() -> None:
    data = {"agents": [{"name": "a", "prompt": "A.", "context": {"limit": 9_000, "result_limit": 800}}]}
    agent = Agents.load(data, models={"m": ScriptedModel(["x"])})["a"]
    assert agent.context == ContextPolicy(limit=9_000, result_limit=800)
    assert agent.describe()["context"] == {
        "limit": 9_000,
        "messages": None,
        "result_limit": 800,
        "compact": ["ClearResults", "KeepLast"],
    }
    with pytest.raises(InvalidAgentData, match="result_limit"):
        Agents.load({"agents": [{"name": "a", "prompt": "A.", "context": {"result_limit": 1}}]})
