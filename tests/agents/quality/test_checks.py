import sys
from threading import Event
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law
from tests.agents.quality._scripts import always

from stagepost.agents import FunctionModel
from stagepost.agents.quality import (
    CODE_CHECKS,
    Candidate,
    Judge,
    Scorecard,
    ScorecardCriterion,
    _markup,
    at_most,
    every,
    has_fields,
    judge_agent,
    no_markdown,
    numbers_in_data,
    without_words,
)
from stagepost.workflows import Chain, StepContext, step


def test_a_length_counts_for_each_part() -> None:
    assert at_most(3)(Candidate(text="abc")) is None
    assert at_most(3)(Candidate(text="abcd")) == "it has 4 characters: use 3 at most"
    assert at_most(3)(Candidate(text="abcd", parts=("ab", "cd"))) is None


@pytest.mark.parametrize(
    "text",
    [
        "2*3 = 6 and 4*5",
        "my_long_name and your_name",
        "- one\n- two",
        "1. one\n2. two",
        "a < b > c",
        "#42 is done",
        "5 > 3",
    ],
    ids=["stars", "underscores", "list", "numbers", "angles", "hash", "greater"],
)
def test_plain_text_has_no_markdown(text: str) -> None:
    assert no_markdown(Candidate(text=text)) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("**32** hours", "bold text"),
        ("*32* hours", "italic text"),
        ("# Hours", "a heading"),
        ("| a | b |\n| - | - |\n| 1 | 2 |", "a table"),
        ("[here](https://example.org)", "a link"),
        ("`code`", "code"),
        ("```\ncode\n```", "a block of code"),
        ("~~gone~~", "struck text"),
        ("![x](https://example.org/x.png)", "a picture"),
        ("> said", "a quotation"),
    ],
    ids=lambda text: text[:8],
)
def test_markdown_is_named(text: str, kind: str) -> None:
    assert kind in str(no_markdown(Candidate(text=text)))
    assert kind in str(no_markdown(Candidate(text="plain", written=text)))


def test_several_kinds_are_listed() -> None:
    why = no_markdown(Candidate(text="# A\n\n**b** and *c*"))
    assert str(why).startswith("it has a heading, bold text and italic text, which")


async def test_without_the_extra_the_criterion_is_undecided_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    _markup._parser.cache_clear()
    criteria = [ScorecardCriterion(id="sms_format", description="The form of it", expected="plain text")]
    done = await Judge().validate(Scorecard(request_id="r", criteria=criteria), Candidate(text="*32*"))
    assert done.result.needs_review
    feedback = str(done.scorecard.criteria[0].feedback)
    assert "needs markdown_it" in feedback
    assert "[assistant]" in feedback


def test_fields_that_must_be_there() -> None:
    check = has_fields("subject", "to")
    assert check(Candidate(text="x", fields={"subject": "Hours", "to": ["ann"]})) is None
    assert check(Candidate(text="x", fields={"subject": " ", "to": []})) == "subject and to must not be empty"


def test_words_that_must_not_appear() -> None:
    check = without_words("error", "your fault")
    assert check(Candidate(text="no terrors here")) is None
    assert check(Candidate(text="An ERROR: your fault")) == "it has 'error' and 'your fault': say it without"


def test_every_check_says_its_part() -> None:
    check = every(at_most(3), without_words("four"))
    assert check(Candidate(text="four")) == "it has 4 characters: use 3 at most; it has 'four': say it without"
    assert check(Candidate(text="two")) is None


@pytest.mark.parametrize(
    ("text", "data", "known"),
    [
        ("32 of 40 hours", {"hours": 32, "of": 40.0}, True),
        ("33 hours", {"hours": 32}, False),
        ("33.3 %", {"share": 33.3333}, True),
        ("33 %", {"share": 33.3333}, True),
        ("33.4 %", {"share": 33.3333}, False),
        ("on the 23rd of 11 2026", {"day": "2026-11-23"}, True),
        ("3 entries", {"entries": ["a", "b", "c"]}, True),
        ("4 entries", {"entries": ["a", "b", "c"]}, False),
        ("7:30 h", {"hours": 7.5}, True),
        ("7:45 h", {"hours": 7.5}, False),
        ("1,234 hours", {"hours": 1234}, True),
        ("1,234.5 hours", {"hours": 1234.5}, True),
        ("7,5 Stunden", {"hours": 7.5}, True),
        ("owes 5", {"balance": -5}, True),
        ("yes", {"is": True, "none": None}, True),
        ("project 9", {"9": {"hours": 1}}, True),
        ("0.125 and 0.1", {"x": 0.125}, True),
    ],
)
def test_numbers_come_from_the_data(text: str, data: Any, known: bool) -> None:  # noqa: FBT001  # of a table
    assert (numbers_in_data(Candidate(text=text, data=data)) is None) is known


def test_numbers_of_the_question_are_known_and_unknown_ones_are_named_once() -> None:
    assert numbers_in_data(Candidate(text="In 2026: 5", question="How was 2026?", data=[1, 2, 3, 4, 6])) is None
    why = numbers_in_data(Candidate(text="7, 7 and 8", data={}))
    assert why == "7 and 8 cannot be found in the data: use its numbers only"


@given(st.recursive(st.floats(-1e9, 1e9) | st.integers(-(10**9), 10**9), lambda inner: st.lists(inner, max_size=4)))
@law(30, 500)
def test_an_answer_that_repeats_its_data_invents_nothing(data: Any) -> None:
    def said(value: Any) -> str:
        return " ".join(map(said, value)) if isinstance(value, list) else f"{abs(value):.2f}"

    assert numbers_in_data(Candidate(text=said(data), data=data)) is None


def test_numbers_that_are_larger_than_decimals_and_texts_full_of_them_are_compared_as_far_as_possible() -> None:
    huge = 10**40
    assert numbers_in_data(Candidate(text=f"{huge}", data=huge)) is None
    assert numbers_in_data(Candidate(text=f"{huge}", data=huge + 1)) is not None
    assert numbers_in_data(Candidate(text="1 " * 10_001 + "2", data=1)) is None


async def test_a_judge_works_in_memory_too() -> None:
    criteria = [ScorecardCriterion(id="sms_format", description="The form of it", expected="plain text")]
    done = await Judge().validate(Scorecard(request_id="r", criteria=criteria), Candidate(text="*32*"))
    assert (done.result.passed, done.model_calls) == (False, 0)
    assert set(CODE_CHECKS) == {"sms_format", "plain_text", "numbers_in_data"}


async def test_a_judge_in_memory_asks_its_agent_and_survives_its_failure() -> None:
    def fail(request: object) -> str:
        raise OSError("gone")

    criteria = [ScorecardCriterion(id="fine", description="Whether 32 is named", expected="it says 32")]
    card = Scorecard(request_id="r", criteria=criteria)
    yes = judge_agent(FunctionModel(always('{"verdicts": [{"id": "fine", "passed": true}]}')))
    assert (await Judge(yes).validate(card, Candidate(text="32"))).scorecard.overall_passed
    done = await Judge(judge_agent(FunctionModel(fail))).validate(card, Candidate(text="32"))
    assert done.result.needs_review
    assert "gone" in str(done.result.review_reason)


async def test_a_name_on_a_hub_can_only_be_asked_in_a_step() -> None:
    criteria = [ScorecardCriterion(id="fine", description="Whether 32 is named", expected="it says 32")]
    with pytest.raises(TypeError, match="is an agent on a hub"):
        await Judge("quality").validate(Scorecard(request_id="r", criteria=criteria), Candidate(text="32"))


def test_data_that_is_no_number_is_no_number() -> None:
    data: Any = [float("nan"), float("inf"), 10**400, 32.0]
    assert numbers_in_data(Candidate(text="32 hours", data=data)) is None
    assert numbers_in_data(Candidate(text="33 hours", data=data)) is not None


def test_nobody_looks_for_markdown_in_what_would_take_seconds() -> None:
    with pytest.raises(ValueError, match="too many to look for markdown"):
        no_markdown(Candidate(text="[" * 20_000))


ONE = Scorecard(
    request_id="r", criteria=[ScorecardCriterion(id="slow", description="Whether it is slow", expected="it is not")]
)


class SlowCheck:
    """A check that goes on once another task says so."""

    def __init__(self) -> None:
        self.begun = Event()
        self.event = Event()

    def __call__(self, _candidate: Candidate) -> str | None:
        self.begun.set()
        return None if self.event.wait(20) else "it has waited in vain"


async def test_no_other_task_waits_for_a_check() -> None:
    slow = SlowCheck()
    judge = Judge(checks={"slow": slow})
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(judge.validate, ONE, Candidate(text="x"))
            await anyio.to_thread.run_sync(slow.begun.wait, 20)
            slow.event.set()
    assert (await judge.validate(ONE, Candidate(text="x"))).result.passed


async def test_a_check_that_takes_too_long_leaves_its_criterion_to_a_person() -> None:
    slow = SlowCheck()

    async def judged(state: object, context: StepContext) -> dict[str, object]:
        done = await Judge(checks={"slow": slow}).validate_in(context, ONE, Candidate(text="x"), seconds=0)
        assert done.result.passed
        return {"review": done.result.needs_review, "feedback": done.scorecard.criteria[0].feedback}

    try:
        state = await Chain("work", [step("judged", judged)]).run({})
    finally:
        slow.event.set()
    assert state["review"]
    assert state["feedback"] == "its check has failed: it takes too long"
