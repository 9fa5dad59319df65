"""Agents on a hub, under a runner."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio import create_task_group, fail_after
from tests.agents._weather import REPORT, Query, Report, look, results, send

from stagepost.agents import (
    Agent,
    Allow,
    ApprovalAsked,
    Budget,
    BudgetExceeded,
    FunctionModel,
    InvalidRequest,
    MessageSaid,
    ModelMissing,
    ScriptedModel,
    ScriptEntry,
    StreamPart,
    TaskCompleted,
    TaskFailed,
    Tasks,
    TokenArrived,
    ToolReturned,
    call,
    tool,
)
from stagepost.checkpoint import MemoryStore
from stagepost.hub import HandlerFailed, Hub
from stagepost.hub.testing import idle
from stagepost.workflows import RunFailed, Runner


@asynccontextmanager
async def served(agent: Agent[Any], store: MemoryStore | None = None) -> AsyncIterator[tuple[Hub, Runner]]:
    with fail_after(10):
        async with MemoryStore() if store is None else store as opened, Hub() as hub, Runner(opened, hub=hub) as runner:
            await runner.serve(agent)
            yield hub, runner


@pytest.mark.parametrize("payload", [Query(city="Oslo"), {"city": "Oslo"}, "Oslo?"], ids=["model", "mapping", "text"])
async def test_a_request_is_answered_with_the_output(payload: object) -> None:
    model = ScriptedModel([[call("look", city="Oslo"), call("send", to="ann")], REPORT])
    agent = Agent("weather", prompt="Weather.", model=model, tools=[look, send], input=Query, output=Report)
    async with served(agent) as (hub, _):
        reply = await hub.request("weather", payload, expect=Report)
    assert reply == Report(city="Oslo", degrees=3)


async def test_a_text_agent_replies_with_a_text() -> None:
    async with served(Agent("echo", prompt="", model=ScriptedModel(["hi"]))) as (hub, _):
        assert await hub.request("echo", "hello", expect=str) == "hi"


async def test_requests_with_one_key_share_a_run() -> None:
    model = ScriptedModel(["hi"])
    async with served(Agent("echo", prompt="", model=model)) as (hub, _):
        for _ in range(2):
            assert await hub.request("echo", "hello", headers={"idempotency-key": "k"}) == "hi"
    assert len(model.requests) == 1


async def test_many_requests_are_served_at_once() -> None:
    model = ScriptedModel([call("look", city="Oslo"), REPORT])
    agent = Agent("weather", prompt="", model=model, tools=[look], output=Report)
    replies: list[Report] = []
    async with served(agent) as (hub, _):

        async def ask() -> None:
            replies.append(await hub.request("weather", "Oslo?", expect=Report))

        async with create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(ask)
    assert replies == [Report(city="Oslo", degrees=3)] * 20
    assert len(model.requests) == 40


async def test_a_wrong_request_fails_and_starts_nothing() -> None:
    model = ScriptedModel([])
    async with served(Agent("weather", prompt="", model=model, input=Query)) as (hub, _):
        with pytest.raises(HandlerFailed) as caught:
            await hub.request("weather", {"town": "Oslo"})
    assert isinstance(caught.value.__cause__, InvalidRequest)
    assert model.requests == ()


async def test_an_agent_without_a_model_cannot_be_served() -> None:
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
        with pytest.raises(ModelMissing):
            await runner.serve(Agent("weather", prompt=""))


async def test_a_failed_model_can_be_asked_again_by_resuming() -> None:
    model = ScriptedModel([call("send", to="ann"), OSError("down"), "done"])
    agent = Agent("mailer", prompt="", model=model, tools=[send])
    async with served(agent) as (_, runner):
        run = await runner.start(agent.as_workflow(), agent.as_workflow().accept("go"), run_id="r")
        with pytest.raises(RunFailed, match="OSError: down"):
            await run.result()
        state = await (await runner.resume("r")).result()
    assert (state["output"], [message.text for message in results(state["messages"])]) == ("done", ["sent to ann"])
    assert len(model.requests) == 3


async def test_a_larger_budget_lets_a_run_go_on_where_it_ended_and_counters_survive() -> None:
    script: list[ScriptEntry] = [call("look", city="Oslo"), [call("look", city="a"), call("look", city="b")], "done"]
    store, spent = MemoryStore(), []
    for budget, expected in ((Budget(tool_calls=2), BudgetExceeded), (Budget(tool_calls=3), None)):
        model = ScriptedModel(script)
        agent = Agent("weather", prompt="", model=model, tools=[look], budget=budget)
        async with served(agent, store) as (_, runner):
            if expected is None:
                state = await (await runner.resume("r")).result()
            else:
                run = await runner.start(agent.as_workflow(), agent.as_workflow().accept("go"), run_id="r")
                with pytest.raises(RunFailed, match=r"BudgetExceeded.*\(3 so far\)"):
                    await run.result()
        spent.append(len(model.requests))
    assert spent == [2, 1]  # the second answer was kept, though it could not be acted upon
    assert (state["output"], state["spent"].turns, state["spent"].tool_calls) == ("done", 3, 3)


async def test_a_run_of_the_served_agent_has_its_name() -> None:
    agent = Agent("echo", prompt="", model=ScriptedModel(["hi"]))
    async with served(agent) as (hub, runner):
        await hub.request("echo", "hello")
        run = await runner.start(agent.as_workflow(), agent.as_workflow().accept("x"))
        await run.result()
        assert run.workflow == "echo"


@pytest.mark.parametrize(
    ("prompt", "end"),
    [("Now in Norwegian.", "done"), ("Mind {city}.", "its prompt needs city, which the request does not have")],
    ids=["other words", "other fields"],
)
async def test_prompts_and_tools_may_change_while_a_run_is_open(prompt: str, end: str) -> None:
    store = MemoryStore()
    old = Agent("w", prompt="", model=ScriptedModel([call("look", city="Oslo"), OSError("down")]), tools=[look])
    async with served(old, store) as (_, runner):
        run = await runner.start(old.as_workflow(), old.as_workflow().accept("go"), run_id="r")
        with pytest.raises(RunFailed):
            await run.result()
    model = ScriptedModel(["", "done"])
    new = Agent("w", prompt=prompt, model=model, tools=[send], input=Query)
    async with served(new, store) as (_, runner):
        run = await runner.resume("r")
        if end != "done":
            with pytest.raises(RunFailed, match=end):
                await run.result()
            return
        assert (await run.result())["output"] == end
    assert model.requests[0].messages[0].text == prompt
    assert [schema.name for schema in model.requests[0].tools] == ["send"]


def shown(part: Any) -> tuple[Any, ...]:
    return part.type, part.path, part.seq


async def test_a_stream_of_a_served_agent_is_that_of_its_task() -> None:
    model = ScriptedModel([call("look", city="Oslo"), REPORT])
    agent = Agent("weather", prompt="", model=model, tools=[look], output=Report)
    async with served(agent) as (hub, runner):
        key = {"idempotency-key": "k"}
        parts = [part async for part in hub.stream("weather", "Oslo?", expect=StreamPart, headers=key)]
        assert isinstance(parts[0], MessageSaid)
        assert any(isinstance(part, TokenArrived) for part in parts)  # from its first token
        end = parts[-1]
        assert isinstance(end, TaskCompleted)
        assert end.result == {"city": "Oslo", "degrees": 3}
        async with Tasks(runner).stream(end.task_id) as stream:
            stored = [shown(part) async for part in stream if part.cursor is not None]
        assert [shown(part) for part in parts if part.cursor is not None] == stored
        joined = [part async for part in hub.stream("weather", "Oslo?", expect=StreamPart, headers=key)]
        assert [shown(part) for part in joined if part.cursor is not None] == stored
        assert await hub.request("weather", "Oslo?", expect=Report, headers=key) == Report(city="Oslo", degrees=3)
    assert len(model.requests) == 2


async def test_leaving_the_stream_of_a_served_agent_does_not_stop_its_task() -> None:
    asked, go = anyio.Event(), anyio.Event()

    async def think(request: Any) -> str:
        asked.set()
        await go.wait()
        return "hi"

    agent = Agent("echo", prompt="", model=FunctionModel(think))
    async with served(agent) as (hub, runner):
        async with hub.stream("echo", "hello", expect=StreamPart) as parts:
            first = await anext(parts)
            await asked.wait()
        await idle(hub)
        go.set()
        async with Tasks(runner).stream(first.task_id) as stream:
            assert isinstance([each async for each in stream][-1], TaskCompleted)


async def test_the_stream_of_a_failed_task_ends_with_its_failure() -> None:
    agent = Agent(
        "weather", prompt="", model=ScriptedModel(["hi"]), budget=Budget(turns=1), tools=[look], output=Report
    )
    async with served(agent) as (hub, _):
        parts = [part async for part in hub.stream("weather", "Oslo?", expect=StreamPart)]
    assert isinstance(parts[-1], TaskFailed)


async def test_a_wrong_request_fails_the_stream_and_starts_nothing() -> None:
    async with served(Agent("weather", prompt="", model=ScriptedModel([]), input=Query)) as (hub, _):
        with pytest.raises(HandlerFailed) as caught:
            await anext(hub.stream("weather", {"town": "Oslo"}))
    assert isinstance(caught.value.cause, InvalidRequest)


async def test_a_stream_goes_on_while_its_task_waits_for_a_person() -> None:
    model = ScriptedModel([call("post", to="ann"), "Done."])

    @tool(needs_approval=True)
    async def post(to: str) -> str:
        """Send a mail."""
        return f"sent to {to}"

    async with served(Agent("mailer", prompt="", model=model, tools=[post])) as (hub, runner):
        results = []
        async for part in hub.stream("mailer", "Write.", expect=StreamPart):
            if isinstance(part, ApprovalAsked):
                await Tasks(runner).decide(part.approval_id, Allow())
            elif isinstance(part, ToolReturned):
                results.append(part.result)
        assert results == ["sent to ann"]
