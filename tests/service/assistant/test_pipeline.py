import json
from typing import Any

import pytest
from anyio import Event, create_task_group, fail_after
from tests.service.assistant._desk import DATA, GOOD, PATIENT, Outbox, Rules, desk, request, says, verdicts

from stagepost.agents import ModelUnavailable
from stagepost.agents.quality import CheckOutcome
from stagepost.checkpoint import RunStatus, WaitKind
from stagepost.service.assistant import AssistantResult, AssistantTexts, InvalidAssistant, User
from stagepost.service.channels import (
    ChannelLimit,
    ChannelLimits,
    Channels,
    Edition,
    NoSender,
    NotSent,
    OutgoingPart,
    StyleGuide,
    UnknownChannel,
)
from stagepost.workflows import Retry, RunConflict

ALL = ["planner", "data", "composer", "judge"]
TEXTS = AssistantTexts()


down = says(ModelUnavailable("openai/gone", "it is down"))


async def test_a_message_is_planned_looked_up_written_judged_and_sent() -> None:
    async with desk() as it:
        result = await it.assistant.ask(request())
        assert it.rules.names() == ALL
        assert it.outbox.texts("+47") == [f"Hi,\n\n{GOOD}"]
    assert result.validation_passed
    assert not result.refinement_attempted
    assert not result.graceful_failure
    assert (result.metadata.llm_calls, result.metadata.agent_calls) == (4, 4)
    assert set(result.metadata.stage_times) == {"analyze", "data", "compose", "brand", "validate"}
    assert result.metadata.tools_used == ("hours",)
    assert it.metrics.statistics().requests == 1


async def test_data_is_looked_up_only_if_it_is_needed() -> None:
    async with desk() as it:
        await it.assistant.ask(request("hello"))
        assert "data" not in it.rules.names()


async def test_each_agent_gets_what_it_needs() -> None:
    async with desk() as it:
        user = User(id="ada", name="Ada", time_zone="Asia/Tokyo", preferences={"hours": 40})
        await it.assistant.ask(request(user=user))
        asked = dict(it.rules.asked)
    assert asked["planner"]["user"]["preferences"] == {"hours": 40}
    assert asked["planner"]["now"].endswith("+09:00")
    assert asked["data"]["data_request"] == {"period": "this_week"}
    assert asked["composer"]["data"] == DATA
    assert "Timesheet Assistant" in asked["composer"]["style"]
    assert asked["judge"]["answer"] == f"Hi Ada,\n\n{GOOD}"


async def test_markdown_for_sms_fails_by_code_and_is_refined() -> None:
    rules = Rules(composer=says({"response": "# Hours\n\n**32** of 40 this week"}))
    async with desk(rules) as it:
        result = await it.assistant.ask(request())
        assert it.outbox.texts("+47") == [f"Hi,\n\n{GOOD}"]
    first, second = result.scorecards
    assert [criterion.id for criterion in first.failed()] == ["sms_format"]
    assert second.overall_passed
    assert result.refinement_attempted
    assert result.validation_passed
    (refined,) = [question for name, question in rules.asked if name == "refiner"]
    assert refined["data"] == DATA
    assert refined["original"].startswith("# Hours")
    assert it.failures[0].final_outcome is CheckOutcome.REFINED


async def test_a_refinement_that_is_still_bad_ends_in_an_apology_that_is_sent_stored_and_logged() -> None:
    bad = {"response": "**32** hours"}
    async with desk(Rules(composer=says(bad), refiner=says(bad))) as it:
        result = await it.assistant.ask(request())
        assert it.outbox.texts("+47") == [f"Hi,\n\n❌ {TEXTS.cannot_help}"]
        stored = await it.store.query("SELECT text FROM app_assistant_lines WHERE role = 'assistant'")
        assert stored == [(TEXTS.cannot_help,)]
    assert result.graceful_failure
    assert not result.validation_passed
    assert len(result.scorecards) == 2
    assert "- The form of a text message: it has bold text" in str(result.metadata.reason)
    assert it.failures[0].final_outcome is CheckOutcome.FAILED
    assert it.metrics.statistics().graceful_failure_rate == 1


@pytest.mark.parametrize(
    ("rules", "text", "reason"),
    [
        ({"data": says({"success": False, "error": "the service is down"})}, "data", "the service is down"),
        ({"data": down}, "data", "it is down"),
        ({"planner": down}, "answer", "analyze: "),
        ({"composer": down}, "answer", "compose: "),
        ({"composer": says({"response": " "})}, "answer", "the answer is empty"),
        ({"planner": says({"needs_data": "perhaps so"})}, "answer", "analyze: "),
    ],
    ids=[
        "data says no",
        "data raises",
        "planner raises",
        "composer raises",
        "composer says nothing",
        "plan unreadable",
    ],
)
async def test_whatever_fails_a_friendly_text_is_sent_and_stored(rules: dict[str, Any], text: str, reason: str) -> None:
    async with desk(Rules(**rules)) as it:
        result = await it.assistant.ask(request())
        sent = it.outbox.texts("+47")
        assert len(await it.store.query("SELECT * FROM app_assistant_lines")) == 2
    friendly = TEXTS.data_unavailable if text == "data" else TEXTS.cannot_help
    assert sent == [f"Hi,\n\n❌ {friendly}"]
    assert result.graceful_failure
    assert reason in str(result.metadata.reason)
    assert it.metrics.statistics().graceful_failures == 1


@pytest.mark.parametrize("stage", ["planner", "data", "composer"])
async def test_a_stage_that_takes_too_long_is_given_up(stage: str) -> None:
    fields = {"planner": "analyze", "data": "data", "composer": "compose"}
    budgets = PATIENT.model_copy(update={fields[stage]: 0.05})
    async with desk(Rules(slow={stage: 60}), budgets=budgets) as it:
        with fail_after(30):
            result = await it.assistant.ask(request())
        assert len(it.outbox.sent) == 1
    assert result.graceful_failure
    assert "has not answered within" in str(result.metadata.reason)


async def test_a_judge_that_takes_too_long_lets_the_answer_out_flagged() -> None:
    async with desk(Rules(slow={"judge": 60}), budgets=PATIENT.model_copy(update={"validate_": 0.05})) as it:
        with fail_after(30):
            result = await it.assistant.ask(request())
        assert it.outbox.texts("+47") == [f"Hi,\n\n{GOOD}"]
    assert result.validation_passed
    assert result.metadata.needs_review
    assert not result.scorecards[0].overall_passed


async def test_once_the_total_is_used_up_the_best_answer_so_far_goes_out() -> None:
    now = [1_800_000_000.0]

    def compose(question: Any) -> dict[str, Any]:
        now[0] += 11
        return {"response": "**32** of 40 this week"}

    rules = Rules(composer=compose)
    async with desk(rules, clock=lambda: now[0], budgets=PATIENT.model_copy(update={"total": 10})) as it:
        result = await it.assistant.ask(request())
        (sent,) = it.outbox.texts("+47")
    assert "32 of 40 this week" in sent
    assert rules.names() == ["planner", "data", "composer"]
    assert (result.refinement_attempted, result.graceful_failure, result.validation_passed) == (False, False, False)
    assert result.metadata.needs_review
    assert str(result.metadata.reason).startswith("the judge has failed: TookTooLong")


async def test_refinement_is_off_for_a_channel_whose_limits_say_so() -> None:
    limits = ChannelLimits(channels={"sms": ChannelLimit(refine=False)})
    rules = Rules(composer=says({"response": "**32** hours this week"}))
    async with desk(rules, channels=Channels(limits=limits)) as it:
        sms = await it.assistant.ask(request())
        mail = await it.assistant.ask(request(number=2, channel="email"))
    assert (sms.refinement_attempted, sms.graceful_failure) == (False, True)
    assert (mail.validation_passed, mail.graceful_failure) == (True, False)


async def test_criteria_of_the_planner_are_screened() -> None:
    criteria = [
        {"id": "good", "description": "The response is good", "expected": "good"},
        {"id": "tiny", "description": "tiny", "expected": "x"},
        {"id": "names_total", "description": "Whether the total is there", "expected": "it says 32"},
    ]
    plan = {"needs_data": True, "kind": "today", "criteria": criteria}
    async with desk(Rules(planner=says(plan))) as it:
        result = await it.assistant.ask(request())
    ids = [criterion.id for criterion in result.scorecards[0].criteria]
    assert ids == ["today_only", "entry_details", "sms_format", "names_total"]
    assert [warning.partition(":")[0] for warning in result.metadata.warnings] == ["good", "tiny"]


async def test_a_long_sms_goes_out_in_parts() -> None:
    text = " ".join(f"On day {number} of this week you have entered 8 hours." for number in range(70))
    async with desk(Rules(composer=says({"response": text}))) as it:
        result = await it.assistant.ask(request())
        parts = it.outbox.texts("+47")
    assert len(text) > 3200
    assert [part[-5:] for part in parts] == ["(1/3)", "(2/3)", "(3/3)"]
    assert max(map(len, parts)) <= 1600
    assert result.validation_passed


async def test_a_resend_sends_nothing_twice_and_gets_the_same_answer() -> None:
    async with desk() as it:
        first = await it.assistant.ask(request())
        again = await it.assistant.ask(request())
        assert again == first
        assert len(it.outbox.sent) == 1
        assert it.rules.names() == ALL
        with pytest.raises(RunConflict):
            await it.assistant.ask(request("Something else"))


async def test_two_messages_at_once_are_answered_in_order_and_the_second_sees_the_first() -> None:
    async with desk(Rules(slow={"planner": 0.01})) as it:
        done: list[str] = []

        async def ask(message: str, number: int, channel: str) -> None:
            await it.assistant.ask(request(message, number, channel=channel))
            done.append(message)

        async with create_task_group() as group:
            group.start_soon(ask, "How many hours today?", 1, "sms")
            group.start_soon(ask, "And what about yesterday?", 2, "email")
        histories = [question["history"] for name, question in it.rules.asked if name == "planner"]
    first, second = histories
    assert first == []
    assert [line["text"] for line in second] == [
        done[0],
        GOOD,
    ]
    assert len(it.outbox.sent) == 2


async def test_the_planner_sees_the_last_ten_lines() -> None:
    async with desk() as it:
        for number in range(7):
            await it.assistant.ask(request(f"hello {number}", number))
        *_, (_, question) = [each for each in it.rules.asked if each[0] == "planner"]
    assert [line["text"] for line in question["history"]][::2] == [f"hello {number}" for number in range(1, 6)]


async def test_conversations_and_tenants_do_not_see_each_other() -> None:
    async with desk() as it:
        await it.assistant.ask(request("hello there"))
        await it.assistant.ask(request("hello", 2, conversation_id="c2"))
        await it.assistant.ask(request("hello", 1, tenant="other"))
        planned = [question["history"] for name, question in it.rules.asked if name == "planner"]
        assert len(it.outbox.sent) == 3
    assert planned == [[], [], []]


async def test_one_agent_may_answer_alone() -> None:
    async with desk() as it:
        result = await it.assistant.ask(request(path="single"))
        assert it.rules.names() == ["single"]
        assert it.outbox.texts("+47") == ["Hi,\n\nalone: 32 hours"]
    assert result.metadata.path == "single"
    assert not result.validation_passed  # nobody has validated it
    assert not result.graceful_failure


async def test_one_agent_that_fails_ends_in_an_apology_too() -> None:
    async with desk(Rules(single=down)) as it:
        result = await it.assistant.ask(request(path="single"))
        assert len(it.outbox.sent) == 1
    assert result.graceful_failure


async def test_what_cannot_be_answered_is_refused_before_anything_is_stored() -> None:
    async with desk(senders={"sms": Outbox()}) as it:
        with pytest.raises(UnknownChannel):
            await it.assistant.ask(request(channel="fax"))
        with pytest.raises(NoSender):
            await it.assistant.ask(request(channel="email"))
        assert (await it.runner.runs.count()).total == 0
    with pytest.raises(InvalidAssistant, match="'fax'"):
        async with desk(senders={"fax": Outbox()}):
            pass


async def test_a_request_has_one_style_guide_throughout_and_records_it() -> None:
    editions = iter([Edition(StyleGuide(), "1.0+a"), Edition(StyleGuide(), "1.0+b")])
    rules = Rules(composer=says({"response": "**32** this week"}))
    async with desk(rules, guide=lambda: next(editions)) as it:
        result = await it.assistant.ask(request())
    assert result.metadata.style_version == "1.0+a"
    assert result.formatted_response.metadata.style_version == "1.0+a"


async def test_what_was_not_sent_is_tried_again_and_told() -> None:
    tries: list[str] = []

    def fail(delivery: OutgoingPart) -> None:
        tries.append(delivery.id)
        raise NotSent("the provider is down")

    retry = Retry(attempts=2, first=0, jitter=0, on=NotSent)
    async with desk(outbox=Outbox(fail), retry=retry) as it:
        result = await it.assistant.ask(request())
        assert len(await it.store.query("SELECT * FROM app_assistant_lines")) == 2
    assert len(tries) == 2
    assert len(set(tries)) == 1  # our id stays
    assert not result.metadata.delivered
    assert str(result.metadata.reason).startswith("send: NotSent")
    assert it.metrics.statistics().requests == 1


async def test_a_sender_that_does_not_take_our_id_parks_the_run_if_nobody_knows() -> None:
    class Modem(Outbox):
        takes_our_id = False

    tried = Event()

    def fail(delivery: OutgoingPart) -> None:
        tried.set()
        raise TimeoutError("no answer from the modem")

    async with desk(outbox=Modem(fail)) as it:
        results: list[AssistantResult] = []

        async def ask() -> None:
            results.append(await it.assistant.ask(request()))

        with fail_after(30):
            async with create_task_group() as group:
                group.start_soon(ask)
                await tried.wait()
                (info,) = (await it.runner.runs.list(workflow="assistant")).items
                await (await it.runner.get(info.run_id)).settled()
                (doubt,) = await it.runner.waits(kind=WaitKind.EFFECT)
                assert doubt.name == "part-1"
                assert not results
                await it.runner.settle(info.run_id, "part-1", value="it went out")
        assert results[0].metadata.delivered


async def test_contradictory_criteria_do_not_hold_up_the_answer() -> None:
    def judge(question: Any) -> dict[str, Any]:
        ids = [each["id"] for each in question["criteria"]]
        return {**verdicts(question, lambda answer: not answer), "contradictory": [ids]}

    async with desk(Rules(judge=judge)) as it:
        result = await it.assistant.ask(request())
    assert result.validation_passed
    assert result.metadata.needs_review
    assert not result.refinement_attempted


@pytest.mark.parametrize(("count", "conversations"), [(50, 50), (100, 20)], ids=["50 at once", "a burst of 100"])
async def test_many_at_once_are_answered_once_each(count: int, conversations: int) -> None:
    async with desk(metrics=None) as it:
        async with create_task_group() as group:
            for number in range(count):
                name = f"c{number % conversations}"
                asked = request(f"Check my timesheet {number}", number, conversation_id=name, to=name)
                group.start_soon(it.assistant.ask, asked)
        assert len(it.outbox.sent) == count
        assert (await it.runner.runs.count(workflow="assistant", status=RunStatus.COMPLETED)).total == count
        assert it.rules.names().count("judge") == count
        rows = await it.store.query("SELECT conversation, number FROM app_assistant_lines")
        assert len(rows) == len(set(rows)) == 2 * count


async def test_the_pipeline_is_a_workflow_on_the_hub_and_so_are_its_agents() -> None:
    async with desk() as it:
        for agent in it.workflow.agents:
            await it.runner.serve(agent)
        plan: Any = await it.hub.request("planner", json.dumps({"message": "hello"}))
        assert not plan.needs_data
