"""Approvals of calls that agents below the root want to make."""

from datetime import timedelta
from typing import Any

import pytest
from anyio import fail_after
from pydantic_core import from_json
from tests.agents._ways import result_of, started, the_wait, told, working
from tests.agents._weather import look, results

from stagepost.agents import (
    Agent,
    Allow,
    Approvals,
    Decision,
    Deny,
    FunctionModel,
    ScriptedModel,
    ScriptEntry,
    ToolCall,
    call,
    tool,
)
from stagepost.checkpoint import MemoryStore, RunStatus, WaitKind

DECISIONS = pytest.mark.parametrize(
    ("decision", "answer", "done"),
    [
        pytest.param(Allow(), "sent to ann", ["ann"], id="allowed"),
        pytest.param(Deny(reason="too late"), "was not called: too late", [], id="denied"),
        pytest.param(Allow(arguments={"to": "bob"}), "sent to bob", ["bob"], id="edited"),
        pytest.param(
            Allow(arguments={"for": "bob"}), "nothing was called: to: Field required", [], id="edited wrongly"
        ),
    ],
)


class Office:
    """A lead and, below it, a mailer, whose mails a person has to allow."""

    def __init__(self, *script: ScriptEntry, gated: bool = True, **options: Any) -> None:
        self.sent: list[str] = []

        @tool(needs_approval=gated)
        async def mail(to: str) -> str:
            self.sent.append(to)
            return f"sent to {to}"

        self.model = ScriptedModel(script or (call("mail", to="ann"), "mailed"))
        self.mailer = Agent("mailer", prompt="Mail.", model=self.model, tools=[mail, look])
        asking = ScriptedModel([call("message_agent", agent_name="mailer", message="Write to Ann."), "done"])
        self.lead = Agent("lead", prompt="Lead.", model=asking, sub_agents=[self.mailer], **options)


@DECISIONS
async def test_approval_below_shows_on_the_root_and_what_is_decided_is_done_and_told(
    decision: Decision, answer: str, done: list[str]
) -> None:
    office = Office()
    async with working(office.lead) as runner:
        run = await started(runner, office.lead)
        wait = await the_wait(runner, run)
        assert wait.shown == {"agent": "mailer", "tool": "mail", "arguments": {"to": "ann"}, "rule": "needs_approval"}
        assert (wait.workflow, wait.kind, office.sent) == ("lead.mailer", WaitKind.ANSWER, [])
        await runner.answer(wait.id, decision)
        result = await result_of(run, office.lead)
    assert office.sent == done
    assert answer in told(office.model.requests[-1])[0]
    assert result.output == "done"


@DECISIONS
async def test_in_memory_the_function_that_is_given_decides_for_agents_below_too(
    decision: Allow | Deny, answer: str, done: list[str]
) -> None:
    office, asked = Office(), []

    async def approve(wanted: ToolCall) -> Allow | Deny:
        asked.append(wanted.name)
        return decision

    with fail_after(10):
        result = await office.lead.run("go", approve=approve)
    assert (asked, office.sent, result.output) == (["mail"], done, "done")
    assert answer in told(office.model.requests[-1])[0]


async def test_in_memory_with_nobody_to_ask_the_agent_above_is_told_why_the_one_below_has_failed() -> None:
    office = Office()
    with fail_after(10):
        result = await office.lead.run("go")
    (said,) = results(result)
    assert said.is_error
    assert "approve=" in from_json(said.text)["response"]
    assert office.sent == []


async def test_rule_of_the_agent_above_holds_below_and_free_calls_are_made_meanwhile() -> None:
    calls = [call("look", city="Oslo"), call("mail", to="ann")]
    office = Office(calls, "mailed", gated=False, approvals=Approvals(["ma?l"]))
    async with working(office.lead) as runner:
        run = await started(runner, office.lead)
        wait = await the_wait(runner, run)
        assert wait.shown["rule"] == "ma?l"
        await runner.answer(wait.id, Allow())
        await run.result()
    assert told(office.model.requests[-1]) == ['{"city":"Oslo","degrees":3}', "sent to ann"]


async def test_rule_reaches_agents_below_agents_and_agents_that_are_tools() -> None:
    office = Office(gated=False)
    asking = ScriptedModel([call("message_agent", agent_name="lead", message="Write to Ann."), "all done"])
    boss = Agent("boss", prompt="Rule.", model=asking, sub_agents=[office.lead], approvals=Approvals(["mail"]))
    async with working(boss) as runner:
        run = await started(runner, boss)
        wait = await the_wait(runner, run)
        assert (wait.workflow, wait.run_id) == ("boss.lead.mailer", "r.lead-0-0-0.mailer-0-0-0")
        await runner.answer(wait.id, Allow())
        assert (await result_of(run, boss)).output == "all done"
    assert office.sent == ["ann"]


async def test_approvals_of_two_agents_at_once_are_answered_in_any_order() -> None:
    office = Office()
    names = ("a", "b", "c")
    asking = ScriptedModel([[call("message_agent", agent_name="mailer", message=each) for each in names], "done"])
    lead = Agent("lead", prompt="Lead.", model=asking, sub_agents=[office.mailer])
    async with working(lead) as runner:
        run = await started(runner, lead)
        assert await run.settled() is RunStatus.WAITING
        waits = await runner.waits(run.id)
        assert [wait.run_id for wait in waits] == [f"r.mailer-0-{index}-0" for index in range(3)], (
            "in the order of their ids"
        )
        for wait in reversed(waits):
            await runner.answer(wait.id, Allow(arguments={"to": wait.run_id}))
        result = await result_of(run, lead)
    assert {*office.sent} == {wait.run_id for wait in waits}
    assert result.output == "done"


async def test_run_that_is_cancelled_takes_the_approvals_below_it_with_it() -> None:
    office = Office()
    async with working(office.lead) as runner:
        wait = await the_wait(runner, await started(runner, office.lead))
        await runner.cancel("r")
        assert await runner.waits() == ()
        assert (await runner.get(wait.run_id)).status is RunStatus.CANCELLED
    assert office.sent == []


async def test_approval_below_that_nobody_has_given_for_a_week_is_denied_also_by_another_process() -> None:
    office, now = Office(), [1_000_000.0]
    async with MemoryStore() as store:
        async with working(office.lead, store=store, clock=now) as runner:
            await the_wait(runner, await started(runner, office.lead))
        now[0] += timedelta(days=6, hours=23).total_seconds()
        async with working(office.lead, store=store, clock=now) as runner:
            await runner.recover()
            await the_wait(runner, await runner.get("r"))
        now[0] += timedelta(hours=2).total_seconds()
        async with working(office.lead, store=store, clock=now) as runner:
            await runner.recover()
            assert (await result_of(await runner.get("r"), office.lead)).output == "done"
    assert told(office.model.requests[-1])[0].endswith("nobody has answered in time whether mail may be called")
    assert office.sent == []


@pytest.mark.parametrize(
    ("edited", "answer"),
    [
        pytest.param({"agent_name": "deaf", "message": "hello"}, '"response":"heard: hello"', id="text"),
        pytest.param({"agent_name": "keen", "message": "hi"}, "nothing was sent", id="another agent"),
        pytest.param({"agent_name": "deaf", "message": "hi", "end": True}, "nothing was sent", id="the last one"),
        pytest.param({"conversation_id": "deaf-0-0", "message": "hi"}, "nothing was sent", id="a conversation"),
    ],
)
async def test_person_may_edit_what_a_message_says_and_not_who_it_is_for(edited: dict[str, Any], answer: str) -> None:
    hearing = FunctionModel(lambda request: f"heard: {request.messages[-1].text}")
    below = [Agent(name, prompt="", model=hearing) for name in ("deaf", "keen")]
    model = ScriptedModel([call("message_agent", agent_name="deaf", message="hi"), "done"])
    lead = Agent("lead", prompt="", model=model, sub_agents=below, approvals=Approvals(["message_*"]))
    async with working(lead) as runner:
        run = await started(runner, lead)
        await runner.answer((await the_wait(runner, run)).id, Allow(arguments=edited))
        (said,) = results(await result_of(run, lead))
    assert answer in said.text
