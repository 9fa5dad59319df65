from typing import Any

import pytest
from _pytest.logging import LogCaptureFixture
from tests.agents.quality._scripts import (
    NAMES_PERIOD,
    NAMES_TOTAL,
    SMS,
    Asked,
    always,
    candidate,
    checked,
    contains,
    judging,
    refining,
)

from stagepost.agents import FunctionModel, InvalidCriteria, ModelRequest, ModelUnavailable, call
from stagepost.agents.quality import (
    Checked,
    CheckOutcome,
    Judge,
    JudgeAndRefine,
    QualityMetrics,
    ValidationFailureLog,
    judge_agent,
    refiner_agent,
)
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import END, Chain, Graph, Parallel, Runner, State, StepContext, step

WORDS = {"names_total": "32", "names_period": "week"}
BOTH = contains(WORDS)


async def outcome(workflow: Chain, draft: str) -> tuple[State, Checked]:
    state = await workflow.run({"draft": draft, "question": "How many hours?"})
    return state, state["checked"]


async def test_an_answer_that_passes_is_judged_once_and_goes_on_as_it_is() -> None:
    asked = Asked()
    state, done = await outcome(checked(judging(asked, BOTH), refining(asked, "never")), "32 h this week")
    assert done.outcome is CheckOutcome.PASSED
    assert state["draft"] == "32 h this week"
    assert (len(asked.judged), len(asked.refined), done.model_calls) == (1, 0, 1)
    assert done.answer.scorecard.overall_passed
    assert [criterion["id"] for criterion in asked.judged[0]["criteria"]] == ["names_total", "names_period"]


async def test_a_failed_answer_is_refined_with_the_data_and_the_failed_criteria() -> None:
    asked = Asked()
    state, done = await outcome(checked(judging(asked, BOTH), refining(asked, "32 h this week")), "32 h")
    assert done.outcome is CheckOutcome.REFINED
    assert state["draft"] == "32 h this week"
    (given,) = asked.refined
    assert given["data"] == {"hours": 32}
    assert given["original"] == "32 h"
    assert [(each["id"], each["feedback"]) for each in given["failed"]] == [("names_period", "say it")]
    assert done.refinement_attempted
    assert done.refinement_succeeded
    assert done.last.changes == ("said it",)
    assert set(done.seconds) == {"validate", "refine"}


async def test_a_refined_answer_that_fails_more_does_not_replace_the_first() -> None:
    asked = Asked()
    state, done = await outcome(checked(judging(asked, BOTH), refining(asked, "nothing of it")), "32 h")
    assert done.outcome is CheckOutcome.FAILED
    assert state["draft"] == "32 h"
    assert done.best == 0
    assert len(done.attempts) == 2
    assert len(asked.refined) == 1  # at most one


async def test_equal_attempts_keep_the_first() -> None:
    asked = Asked()
    state, _ = await outcome(checked(judging(asked, BOTH), refining(asked, "32 minutes")), "32 h")
    assert state["draft"] == "32 h"


@pytest.mark.parametrize("refinements", [0, lambda state: 0 if state["channel"] == "sms" else 1], ids=["0", "channel"])
async def test_refinement_can_be_switched_off(refinements: Any) -> None:
    asked = Asked()
    workflow = checked(judging(asked, BOTH), refining(asked, "32 h this week"), refinements=refinements)
    state = await workflow.run({"draft": "32 h", "channel": "sms"})
    assert state["checked"].outcome is CheckOutcome.FAILED
    assert not asked.refined


async def test_a_judge_that_fails_approves_with_a_flag_and_ends() -> None:
    def fail(request: ModelRequest) -> str:
        raise ModelUnavailable("openai/gone", "it is down")

    asked = Asked()
    state, done = await outcome(checked(FunctionModel(fail), refining(asked, "never")), "32 h")
    assert done.outcome is CheckOutcome.REVIEW
    assert state["draft"] == "32 h"
    assert done.answer.validation.passed
    assert "the judge has failed" in str(done.answer.validation.review_reason)
    assert not done.answer.scorecard.overall_passed  # what nobody has evaluated has not passed
    assert not asked.refined


@pytest.mark.parametrize(
    "said",
    [
        call("return", verdicts=[]),
        call("return", verdicts=[{"id": "names_total", "passed": None}]),
        call("return", verdicts=[{"id": "unknown", "passed": False}]),
        call("fail", reason="I cannot decide"),
        "Yes, it is fine.",
    ],
    ids=["nothing", "null", "others", "gives up", "prose"],
)
async def test_a_judge_that_cannot_decide_approves_with_a_flag(said: Any) -> None:
    asked = Asked()
    _, done = await outcome(checked(FunctionModel(always(said)), refining(asked, "never")), "32 h")
    assert done.outcome is CheckOutcome.REVIEW
    assert not asked.refined


async def test_contradictory_criteria_lead_to_review_and_not_to_a_loop() -> None:
    verdicts = [{"id": "names_total", "passed": False, "feedback": "x"}, {"id": "names_period", "passed": True}]
    said = call("return", verdicts=verdicts, contradictory=[["names_total", "names_period"]])
    asked = Asked()
    _, done = await outcome(checked(FunctionModel(always(said)), refining(asked, "never")), "32 h")
    assert done.outcome is CheckOutcome.REVIEW
    assert not asked.refined
    feedback = done.answer.scorecard.criteria[0].feedback
    assert feedback == "no answer can fulfil it together with names_period"


async def test_code_decides_first_and_the_model_is_asked_about_the_rest_alone() -> None:
    asked = Asked()
    workflow = checked(judging(asked, BOTH), refining(asked, "32 h this week"), criteria=[SMS, NAMES_TOTAL])
    _, done = await outcome(workflow, "**32** h this week")
    assert [criterion["id"] for criterion in asked.judged[0]["criteria"]] == ["names_total"]
    assert done.attempts[0].validation.failed_criteria_ids == ["sms_format"]
    assert done.outcome is CheckOutcome.REFINED


async def test_no_model_is_asked_while_there_is_too_much_to_do() -> None:
    asked, busy = Asked(), [True]
    judge = Judge(judge_agent(judging(asked, BOTH)), only_code=lambda: busy[0])
    _, done = await outcome(checked(judge), "32 h this week")
    assert done.outcome is CheckOutcome.REVIEW
    assert not asked.judged
    busy[0] = False
    _, done = await outcome(checked(judge), "32 h this week")
    assert done.outcome is CheckOutcome.PASSED


@pytest.mark.parametrize("durable", ["in memory", "on a runner"])
async def test_in_a_loop_each_round_is_checked_anew(durable: str) -> None:
    asked = Asked()
    pattern = JudgeAndRefine(
        "checked",
        Judge(judge_agent(judging(asked, BOTH))),
        refiner_agent(refining(asked, "32 h this week")),
        candidate=candidate,
        criteria=[NAMES_TOTAL, NAMES_PERIOD],
        answer="draft",
    )
    work = Graph("work")

    async def write(state: State, context: StepContext) -> dict[str, str]:
        return {"draft": f"32 h, round {context.visit}"}

    def is_enough(state: State) -> bool:
        return len(asked.refined) == 3

    work.add("write", write)
    work.add("check", pattern)
    work.edge("write", "check")
    work.edge("check", END, when=is_enough)
    work.edge("check", "write")
    work.start("write")
    if durable == "in memory":
        state = await work.run({})
    else:
        async with MemoryStore() as store, Runner(store, workflows=[work]) as runner:
            state = await (await runner.start(work, {})).result()
    assert [question["answer"] for question in asked.judged] == [
        text for number in (1, 2, 3) for text in (f"32 h, round {number}", "32 h this week")
    ]
    assert len(state["checked"].attempts) == 2


async def test_no_model_is_asked_if_code_can_decide_about_everything() -> None:
    asked = Asked()
    _, done = await outcome(checked(judging(asked, BOTH), criteria=[SMS]), "32 h")
    assert done.outcome is CheckOutcome.PASSED
    assert done.model_calls == 0
    assert not asked.judged


async def test_a_check_that_fails_leaves_its_criterion_undecided() -> None:
    def check(given: object) -> str | None:
        raise RuntimeError("no such table")

    judge = Judge(checks={"names_total": check})
    _, done = await outcome(checked(judge, criteria=[NAMES_TOTAL]), "32 h")
    assert done.outcome is CheckOutcome.REVIEW
    assert "no such table" in str(done.answer.scorecard.criteria[0].feedback)


async def test_a_refiner_that_fails_leaves_the_first_attempt() -> None:
    def fail(request: ModelRequest) -> str:
        raise ModelUnavailable("openai/gone", "it is down")

    _, done = await outcome(checked(judging(Asked(), BOTH), FunctionModel(fail)), "32 h")
    assert done.outcome is CheckOutcome.FAILED
    assert "it is down" in str(done.refinement_problem)


async def test_an_empty_refinement_counts_as_none() -> None:
    asked = Asked()
    state, done = await outcome(checked(judging(asked, BOTH), refining(asked, "  ")), "32 h")
    assert "empty" in str(done.refinement_problem)
    assert state["draft"] == "32 h"


async def test_criteria_that_cannot_be_checked_are_dropped_with_a_warning(caplog: LogCaptureFixture) -> None:
    criteria = [
        {"id": "good", "description": "The response is good", "expected": "good"},
        {"id": "short", "description": "short", "expected": "x"},
        NAMES_TOTAL,
    ]
    asked = Asked()
    _, done = await outcome(checked(judging(asked, BOTH), criteria=always(criteria)), "32 h")
    assert [criterion["id"] for criterion in asked.judged[0]["criteria"]] == ["names_total"]
    assert [warning.partition(":")[0] for warning in done.warnings] == ["good", "short"]
    assert "criterion_dropped" in caplog.text


async def test_if_no_criterion_is_left_it_is_asked_whether_the_question_is_answered() -> None:
    asked = Asked()
    workflow = checked(judging(asked, always(True)), criteria=always([]))
    await outcome(workflow, "32 h")
    assert [criterion["id"] for criterion in asked.judged[0]["criteria"]] == ["answers_question"]


def test_fixed_criteria_of_which_none_can_be_checked_are_refused() -> None:
    with pytest.raises(InvalidCriteria, match="vague"):
        checked(Judge(), criteria=[{"id": "good", "description": "The response is good", "expected": "good"}])


def test_more_than_one_refinement_is_refused() -> None:
    with pytest.raises(InvalidCriteria, match="give 0 or 1"):
        checked(Judge(), refinements=2)


@pytest.mark.parametrize("as_stage", ["a function", "a stage"])
async def test_what_prepares_runs_before_each_validation_and_the_best_is_put_back(as_stage: str) -> None:
    async def shout(state: State) -> dict[str, str]:
        return {"shown": state["draft"].upper()}

    asked = Asked()
    workflow = checked(
        judging(asked, contains({"names_total": "32", "names_period": "WEEK"})),
        refining(asked, "worse"),
        prepare=step("shout", shout) if as_stage == "a stage" else shout,
        keeps=["shown"],
        candidate=lambda state: candidate({"draft": state["shown"]}),
    )
    state, done = await outcome(workflow, "32 h")
    assert [attempt.text for attempt in done.attempts] == ["32 H", "WORSE"]
    assert (state["draft"], state["shown"]) == ("32 h", "32 H")


async def test_without_time_left_nothing_is_refined_and_the_best_goes_out() -> None:
    asked = Asked()
    workflow = checked(judging(asked, BOTH), refining(asked, "never"), left=always(0))
    _, done = await outcome(workflow, "32 h this month")
    assert done.outcome is CheckOutcome.REVIEW  # the judge had no time either
    assert not asked.judged
    workflow = checked(judging(asked, BOTH), refining(asked, "never"), left=always(0), criteria=[SMS, NAMES_TOTAL])
    _, done = await outcome(workflow, "**32** h")
    assert done.outcome is CheckOutcome.BEST
    assert not asked.refined


async def test_metrics_and_the_log_of_failures_tell_what_has_become_of_answers() -> None:
    metrics, told = QualityMetrics(), list[ValidationFailureLog]()
    asked = Asked()
    for draft in ("32 h this week", "32 h", "one"):
        workflow = checked(
            judging(asked, BOTH), refining(asked, "32 h this week"), metrics=metrics, on_failure=told.append
        )
        await outcome(workflow, draft)
    found = metrics.statistics()
    assert (found.checked, found.pass_rate) == (3, 1 / 3)
    assert (found.refinement_rate, found.refinement_success_rate) == (2 / 3, 1.0)
    first, _ = told
    assert first.question == "How many hours?"
    assert first.final_outcome is CheckOutcome.REFINED
    assert first.refinement_succeeded
    assert first.reason == "- Whether the period is named: say it"
    assert [result.passed for result in first.results] == [False, True]


async def test_a_log_that_fails_holds_up_no_answer() -> None:
    async def fail(record: ValidationFailureLog) -> None:
        raise OSError("the disk is full")

    _, done = await outcome(checked(judging(Asked(), BOTH), on_failure=fail), "32 h")
    assert done.outcome is CheckOutcome.FAILED


async def test_it_nests_in_any_workflow_and_its_items_do_not_disturb_each_other() -> None:
    asked = Asked()
    pattern = JudgeAndRefine(
        "checked",
        Judge(judge_agent(judging(asked, BOTH))),
        candidate=lambda state: candidate({"draft": state["item"]}),
        criteria=[NAMES_TOTAL, NAMES_PERIOD],
        answer="item",
    )
    work = Chain("work", [Parallel("all", Chain("one", [pattern]), over="drafts")])
    async with MemoryStore() as store, Runner(store, workflows=[work]) as runner:
        run = await runner.start(work, {"drafts": ["32 h this week", "32 h"]}, run_id="work")
        state = await run.result()
    outcomes = [value["checked"]["outcome"] for value in state["all"]]
    assert outcomes == ["passed", "failed"]
    assert len(asked.judged) == 2
