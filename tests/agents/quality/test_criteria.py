from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from stagepost.agents.quality import (
    BUILT_IN_CRITERIA,
    Scorecard,
    ScorecardCriterion,
    ValidationResult,
    criteria_for,
    screened,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def criterion(name: str = "total", **given: Any) -> ScorecardCriterion:
    values = {"id": name, "description": "Whether the total is stated", "expected": "it states the sum of all hours"}
    return ScorecardCriterion.model_validate({**values, **given})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"description": "too short"}, "at least 10 characters"),
        ({"expected": ""}, "at least 1 character"),
        ({"id": "no spaces"}, "pattern"),
        ({"passed": False}, "has failed without feedback"),
        ({"passed": False, "feedback": "  "}, "has failed without feedback"),
    ],
    ids=["short description", "nothing expected", "id", "no feedback", "blank feedback"],
)
def test_a_criterion_that_is_none_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        criterion(**given)


def test_a_decision_without_feedback_says_what_was_expected() -> None:
    assert criterion().judged(passed=False).feedback == "expected: it states the sum of all hours"
    assert criterion().judged(passed=True).feedback is None
    assert criterion().judged(passed=None, feedback="unclear").feedback == "unclear"


def test_a_scorecard_has_criteria_with_ids_of_their_own() -> None:
    with pytest.raises(ValidationError, match="at least 1 item"):
        Scorecard(request_id="r", criteria=[])
    with pytest.raises(ValidationError, match="two criteria have the id 'total'"):
        Scorecard(request_id="r", criteria=[criterion(), criterion()])


@pytest.mark.parametrize(
    ("decisions", "passes"),
    [([True, True], True), ([True, False], False), ([True, None], False), ([None, None], False)],
    ids=["all", "one failed", "one open", "none evaluated"],
)
def test_a_scorecard_has_passed_if_every_criterion_was_evaluated_and_has_passed(
    decisions: list[bool | None],
    passes: bool,  # noqa: FBT001  # of a table
) -> None:
    criteria = [criterion(f"c{n}").judged(passed=passed) for n, passed in enumerate(decisions)]
    card = Scorecard(request_id="r", criteria=criteria)
    assert card.evaluate(now=NOW) is passes is card.overall_passed
    assert card.evaluated_at == NOW
    assert len(card.failed()) == decisions.count(False)
    assert len(card.unevaluated()) == decisions.count(None)


def test_a_result_names_what_has_failed_and_collects_feedback() -> None:
    failed = [criterion(each).judged(passed=False, feedback=f"fix {each}") for each in ("a", "b")]
    card = Scorecard(request_id="r", criteria=[*failed, criterion("c").judged(passed=None)])
    card.evaluate(now=NOW)
    result = ValidationResult.of(card)
    assert (result.passed, result.failed_criteria_ids) == (False, ["a", "b"])
    assert result.feedback == "- Whether the total is stated: fix a\n- Whether the total is stated: fix b"
    assert result.review_reason == "nobody could decide about c"
    assert result.validated_at == NOW


def test_a_result_does_not_contradict_itself() -> None:
    with pytest.raises(ValidationError, match="one of them is wrong"):
        ValidationResult(passed=True, failed_criteria_ids=["a"], validated_at=NOW)
    with pytest.raises(ValidationError, match="name the criteria"):
        ValidationResult(passed=False, validated_at=NOW)


def proposed(expected: str, description: str = "What is looked at here", name: str = "c") -> dict[str, str]:
    return {"id": name, "description": description, "expected": expected}


@pytest.mark.parametrize(
    ("criterion", "why"),
    [
        (proposed("good", "The response is good"), "vague (good)"),
        (proposed("appropriate and helpful", "The answer should be nice"), "vague"),
        (proposed("a creative answer", "The response is creative"), "a matter of taste (creative)"),
        (proposed("friendly", "The message is friendly and good"), "a matter of taste (friendly)"),
        (proposed("it is", "The answer is an answer to it"), "says nothing that could be checked"),
        (proposed("the user will be happy", "Whether it pleases them"), "depends on what somebody feels"),
        (proposed("the customer likes it"), "depends on what somebody feels"),
        ({"id": "c", "description": "short", "expected": "x"}, "at least 10 characters"),
        ({"id": "c", "description": "Whether it is there"}, "Field required"),
    ],
    ids=["good", "nice", "creative", "friendly", "nothing", "happy", "likes", "short", "nothing expected"],
)
def test_what_cannot_be_checked_is_dropped(criterion: dict[str, str], why: str) -> None:
    found = screened([criterion])
    assert found.criteria == ()
    assert why in found.dropped[0].why


@pytest.mark.parametrize("odd", [7, "text", None, [1]], ids=["number", "text", "none", "list"])
def test_what_is_no_criterion_at_all_is_dropped(odd: Any) -> None:
    assert "is no criterion" in screened([odd]).dropped[0].why


@pytest.mark.parametrize("kind", sorted(BUILT_IN_CRITERIA))
def test_the_built_in_criteria_can_be_checked(kind: str) -> None:
    found = screened(criteria_for(kind, channel="sms"))
    assert (found.dropped, found.doubtful) == ((), ())
    assert [each.id for each in criteria_for(kind, channel="sms")][-1] == "sms_format"
    assert "sms_format" not in [each.id for each in criteria_for(kind, channel="email")]


def test_an_unknown_kind_asks_whether_the_question_is_answered() -> None:
    assert [each.id for each in criteria_for("weather")] == ["answers_question"]


def test_a_matter_of_taste_beside_a_fact_is_doubtful_and_used() -> None:
    found = screened([proposed("it names 32 hours in an elegant way")])
    assert [each.id for each in found.criteria] == ["c"]
    assert "elegant" in found.doubtful[0].why


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("it has an emoji", "it has no emoji"),
        ("it has links", "it is without links"),
        ("it has at most 100 words", "it has at least 200 words"),
        ("it has at least 200 words", "it has fewer than 100 words"),
    ],
    ids=["no", "without", "at most", "at least"],
)
def test_of_two_that_contradict_each_other_the_later_one_is_dropped(first: str, second: str) -> None:
    found = screened([proposed(first, name="first"), proposed(second, name="second")])
    assert [each.id for each in found.criteria] == ["first"]
    assert "contradicts 'first'" in found.dropped[0].why


def test_limits_that_agree_are_kept() -> None:
    found = screened([proposed("at most 200 words", name="most"), proposed("at least 100 words", name="least")])
    assert len(found.criteria) == 2


def test_the_second_of_two_with_one_id_is_dropped() -> None:
    found = screened([proposed("it names the total", name="c"), proposed("it names the day", name="c")])
    assert found.criteria[0].expected == "it names the total"
    assert "earlier criterion" in found.dropped[0].why


def test_the_wording_does_not_matter_where_code_decides() -> None:
    assert len(screened([proposed("good", "The response is good")], checked=["c"]).criteria) == 1


def test_earlier_decisions_are_forgotten() -> None:
    found = screened([criterion().judged(passed=False, feedback="x")])
    assert (found.criteria[0].passed, found.criteria[0].feedback) == (None, None)


def test_numbers_that_are_longer_than_any_count_hold_up_no_criteria() -> None:
    endless = "9" * 5000
    found = screened(
        [
            criterion("most", expected=f"it has at most {endless} words"),
            criterion("least", expected=f"it has at least {endless} words"),
        ]
    )
    assert len(found.criteria) == 2
