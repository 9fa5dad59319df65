"""New tasks that go on where another one stands, or has stood."""

import pytest
from tests.agents._weather import look
from tests.agents.test_tasks import tasks_of

from stagepost.agents import (
    Agent,
    Allow,
    Budget,
    FunctionModel,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    TaskStatus,
    call,
    tool,
)
from stagepost.checkpoint import RunStatus
from stagepost.workflows import EffectsAgain, ForkRefused, RunFailed


async def test_a_task_is_forked_at_a_message_and_the_other_one_stays() -> None:
    calls = [(call("look", city=city),) for city in ("Oslo", "Rome")]
    answers = [
        *(ModelResponse(calls=each) for each in calls),
        *(ModelResponse(text=text) for text in ("first", "second", "third")),
    ]
    model = FunctionModel(lambda _: answers.pop(0))
    async with tasks_of(Agent("m", prompt="", model=model, tools=[look]), keep="all") as (tasks, runner):
        await (await tasks.start("m", "hello", task_id="t", labels={"customer": "7"})).result()
        before = await tasks.get("t")
        assert [message.role for message in before.messages] == ["user", *("assistant", "tool") * 2, "assistant"]
        fork = await tasks.fork("t", at=3, new_id="u", labels={"why": "again"})
        await fork.result()
        after = await tasks.get("u")
        assert await tasks.get("t") == before
        assert (after.output, after.messages[:3], len(after.messages)) == ("second", before.messages[:3], 4)
        assert (after.turns, after.usage) == (2, after.usage)
        assert (await runner.runs.info("u")).labels == {"customer": "7", "why": "again"}
        (elements,) = (await runner.store.query("SELECT count(*) FROM elements WHERE maker > 1"))[0]
        assert elements == 1  # the beginning is stored once
        await runner.store.delete("t")
        assert (await tasks.get("u")).messages == after.messages
        await (await tasks.follow_up("u", "and more", new_id="v")).result()
        assert (await tasks.get("v")).messages[:4] == after.messages


async def test_what_was_used_before_counts_for_the_budget_of_a_fork() -> None:
    calls = [call("look", city="Oslo")]

    def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse(calls=tuple(calls)) if len(request.messages) < 20 else ModelResponse(text="never")

    agent = Agent("m", prompt="", model=FunctionModel(answer), tools=[look], budget=Budget(turns=4))
    async with tasks_of(agent, keep="all") as (tasks, _):
        with pytest.raises(RunFailed):
            await (await tasks.start("m", "hello", task_id="t")).result()
        turns = (await tasks.get("t")).turns
        fork = await tasks.fork("t", at=5)
        with pytest.raises(RunFailed):
            await fork.result()
        task = await tasks.get(fork.id)
        assert (task.turns, task.error) == (turns, (await tasks.get("t")).error)


async def test_a_call_that_waits_for_approval_waits_anew_in_a_fork() -> None:
    sent: list[str] = []

    @tool(needs_approval=True)
    async def mail(to: str) -> str:
        "Send a mail."
        sent.append(to)
        return "sent"

    model = ScriptedModel([[call("mail", to="eve")], "done", "done"])
    async with tasks_of(Agent("m", prompt="", model=model, tools=[mail])) as (tasks, runner):
        run = await tasks.start("m", "hello", task_id="t")
        assert await run.settled() is RunStatus.WAITING
        fork = await tasks.fork("t", new_id="u")
        assert await fork.settled() is RunStatus.WAITING
        assert (await tasks.get("u")).status is TaskStatus.AWAITING_APPROVAL
        await runner.cancel("t")
        await tasks.decide((await tasks.approvals())[0].id, Allow())
        await fork.result()
    assert sent == ["eve"]


async def test_calls_with_effects_are_made_again_only_if_that_is_said() -> None:
    booked: list[str] = []

    @tool(on_unknown="park")
    async def book(city: str) -> str:
        "Book a trip."
        booked.append(city)
        return "booked"

    model = ScriptedModel([[call("book", city="Oslo")], "done"])
    async with tasks_of(Agent("m", prompt="", model=model, tools=[book]), keep="all") as (tasks, _):
        await (await tasks.start("m", "hello", task_id="t")).result()
        with pytest.raises(EffectsAgain):
            await tasks.fork("t", at=2)
        assert (await (await tasks.fork("t", at=2, effects="keep")).result())["output"] == "done"
        assert booked == ["Oslo"]
        await (await tasks.fork("t", at=2, effects="again")).result()
    assert booked == ["Oslo", "Oslo"]


async def test_tasks_that_cannot_be_forked_so_are_refused() -> None:
    agent = Agent("m", prompt="", model=FunctionModel(lambda _: ModelResponse(text="hi")))
    async with tasks_of(agent) as (tasks, runner):
        await (await tasks.start("m", "hello", task_id="t")).result()
        await (await runner.start(agent, agent.as_workflow().accept("hello"), run_id="all", keep="all")).result()
        with pytest.raises(ForkRefused, match="keep='all'"):
            await tasks.fork("t", at=1)
        with pytest.raises(ForkRefused, match="first message"):
            await tasks.fork("all", at=0)
        assert (await (await tasks.fork("all", at=1)).result())["output"] == "hi"
        assert (await (await tasks.fork("all", at=9)).result())["output"] == "hi"
