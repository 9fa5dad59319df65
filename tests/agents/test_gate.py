"""Calls that a person has to allow."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import pytest
from tests.agents._weather import look, results

from stagepost.agents import (
    Agent,
    Allow,
    Approvals,
    Decision,
    Deny,
    NobodyToAsk,
    ScriptedModel,
    ScriptEntry,
    ToolCall,
    call,
    tool,
)
from stagepost.checkpoint import CannotStore, MemoryStore, RunStatus
from stagepost.workflows import PendingWait, Run, Runner

sent: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    sent.clear()


@tool(needs_approval=True)
async def mail(to: str, body: str = "hello") -> str:
    "Send a mail."
    sent.append(f"{to}: {body}")
    return f"sent to {to}"


def mailing(*script: ScriptEntry, approvals: Approvals | None = None) -> Agent[str]:
    model = ScriptedModel([*script])
    return Agent("mailer", prompt="Send mails.", model=model, tools=[mail, look], approvals=approvals)


@asynccontextmanager
async def parked(agent: Agent[str], clock: list[float] | None = None) -> AsyncIterator[tuple[Runner, Run]]:
    """The agent's run, once it waits."""
    now = clock or [1_000_000.0]
    async with MemoryStore() as store, Runner(store, workflows=[agent], clock=lambda: now[0]) as runner:
        workflow = agent.as_workflow()
        run = await runner.start(workflow, workflow.accept("go"), run_id="r")
        with anyio.fail_after(10):
            assert await run.settled() is RunStatus.WAITING
            yield runner, run


async def only(runner: Runner) -> PendingWait:
    (wait,) = await runner.waits("r")
    return wait


async def test_call_waits_until_a_person_allows_it() -> None:
    async with parked(mailing(call("mail", to="eve"), "done")) as (runner, run):
        wait = await only(runner)
        assert wait.shown == {"agent": "mailer", "tool": "mail", "arguments": {"to": "eve"}, "rule": "needs_approval"}
        assert wait.due_at is not None
        assert wait.due_at - wait.opened_at <= timedelta(days=7)
        assert not sent
        await runner.answer(wait.id, Allow(), by="ann")
        state = await run.result()
    assert state["output"] == "done"
    assert sent == ["eve: hello"]


@pytest.mark.parametrize(
    ("decision", "told", "done"),
    [
        pytest.param(Deny(reason="not her"), "denied by a person, mail was not called: not her", [], id="deny"),
        pytest.param(Deny(), "denied by a person, mail was not called, without a reason", [], id="deny, no reason"),
        pytest.param({"kind": "allow"}, "sent to eve", ["eve: hello"], id="allow, as JSON"),
        pytest.param(
            Allow(arguments={"to": "bob", "body": "hi"}), "sent to bob", ["bob: hi"], id="allow with other arguments"
        ),
        pytest.param(
            Allow(arguments={"whom": "bob"}),
            "the arguments do not fit, nothing was called: to: Field required; whom: Extra inputs are not permitted",
            [],
            id="allow with arguments that do not fit",
        ),
    ],
)
async def test_decision_is_kept_and_told(decision: Decision, told: str, done: list[str]) -> None:
    async with parked(mailing(call("mail", to="eve"), "done")) as (runner, run):
        await runner.answer((await only(runner)).id, decision)
        state = await run.result()
    assert [result.text for result in results(list(state["messages"]))] == [told]
    assert sent == done


async def test_answer_that_is_no_decision_is_refused_and_the_call_waits_on() -> None:
    async with parked(mailing(call("mail", to="eve"), "done")) as (runner, _):
        wait = await only(runner)
        with pytest.raises(CannotStore, match="yes"):
            await runner.answer(wait.id, "yes")
        assert (await only(runner)).id == wait.id


async def test_call_that_nobody_has_decided_on_for_a_week_is_denied() -> None:
    now = [1_000_000.0]
    agent = mailing(call("mail", to="eve"), "done")
    async with MemoryStore() as store:
        async with Runner(store, workflows=[agent], clock=lambda: now[0]) as runner:
            workflow = agent.as_workflow()
            run = await runner.start(workflow, workflow.accept("go"), run_id="r")
            assert await run.settled() is RunStatus.WAITING
        now[0] += timedelta(days=7, seconds=1).total_seconds()
        async with Runner(store, workflows=[agent], clock=lambda: now[0]) as runner:
            await runner.recover()
            with anyio.fail_after(10):
                state = await (await runner.get("r")).result()
    (result,) = results(list(state["messages"]))
    assert result.text.endswith("nobody has answered in time whether mail may be called")
    assert not sent


async def test_other_calls_of_the_answer_are_made_meanwhile() -> None:
    calls = [call("mail", to="eve"), call("look", city="Oslo"), call("mail", to="bob")]
    async with parked(mailing(calls, "done")) as (runner, run):
        shown = {wait.shown["arguments"]["to"]: wait.id for wait in await runner.waits("r")}
        assert set(shown) == {"eve", "bob"}
        await runner.answer(shown["bob"], Allow())
        await runner.answer(shown["eve"], Deny(reason="no"))
        state = await run.result()
    assert [result.tool for result in results(list(state["messages"]))] == ["mail", "look", "mail"]
    assert sent == ["bob: hello"]


async def test_rules_gate_tools_that_are_not_marked() -> None:
    agent = mailing(call("look", city="Oslo"), "done", approvals=Approvals(["loo*"]))
    async with parked(agent) as (runner, run):
        wait = await only(runner)
        assert wait.shown["rule"] == "loo*"
        await runner.answer(wait.id, Allow())
        assert (await run.result())["output"] == "done"


async def test_call_that_cannot_be_made_asks_nobody() -> None:
    agent = mailing([call("mail", whom="eve"), call("male", to="eve")], "done")
    result = await agent.run("go")
    assert [each.is_error for each in results(result)] == [True, True]


async def test_run_in_memory_asks_the_function_that_it_is_given() -> None:
    asked: list[str] = []

    async def approve(wanted: ToolCall) -> Allow | Deny:
        asked.append(wanted.name)
        return Allow(arguments={"to": "bob"}) if len(asked) == 1 else Deny(reason="enough")

    agent = mailing(call("mail", to="eve"), call("mail", to="eve"), "done")
    result = await agent.run("go", approve=approve)
    assert [each.is_error for each in results(result)] == [False, True]
    assert sent == ["bob: hello"]


async def test_run_in_memory_with_nobody_to_ask_fails() -> None:
    with pytest.raises(NobodyToAsk, match="approve="):
        await mailing(call("mail", to="eve"), "done").run("go")
