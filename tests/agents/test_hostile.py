"""Whatever a function of a user does in an agent is told to the model or fails the run, and harms nothing else."""

import sys
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel, field_validator
from tests.agents._weather import results
from tests.workflows._hostile import ASYNC, ASYNCIO, BUILTIN, ODD, Hostile, leak_a_scope, raising
from tests.workflows._words import PATIENCE, Gate, running

from stagepost.agents import (
    Agent,
    AgentError,
    AgentFailed,
    FunctionModel,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    Tool,
    ToolCall,
    ToolContext,
    ToolResult,
    call,
    tool,
)
from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.workflows import Chain, RunFailed, step

RAISED = {name: raising(make) for name, make in ODD.items()} | {
    "argparse": lambda *_: ArgumentParser().parse_args(["--no-such-option"]),
    "sys.exit": lambda *_: sys.exit(3),
}


def agent_with(made: Tool[..., object], **options: Any) -> Agent[str]:
    model = ScriptedModel([call(made.name, text="x"), "done"])
    return Agent("agent", prompt="", model=model, tools=[made], **options)


def tool_of(hostile: Hostile, *, threaded: bool = False, **options: Any) -> Tool[..., object]:
    if threaded:

        @tool(**options)
        def act(text: str) -> object:
            "Act."
            return hostile(text)

    else:

        @tool(**options)
        async def act(text: str) -> object:
            "Act."
            return hostile(text)

    return act


async def run_beside_another(agent: Agent[Any]) -> Any:
    """The agent's result on a runner, where another run has to complete."""
    gate = Gate("gate", {"done": True})
    beside = Chain("beside", [gate.step, step("last", lambda _: {"last": True}, inline=True)])
    store = MemoryStore()
    async with running(store, agent, beside) as runner:
        other = await runner.start(beside)
        await gate.entered.wait()
        run = await runner.start(agent, agent.as_workflow().accept("hello"), run_id="bad")
        try:
            return agent.as_workflow().result(await run.result())  # type: ignore[attr-defined]  # of an agent's loop
        except RunFailed as error:
            assert (await store.info("bad")).status is RunStatus.FAILED
            return error
        finally:
            gate.open.set()
            assert dict(await other.result()) == {"done": True, "last": True}


@pytest.mark.parametrize("threaded", [False, True], ids=["async", "thread"])
@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_a_tool_raises_is_told_to_the_model(hostile: Hostile, threaded: bool) -> None:  # noqa: FBT001  # a parameter of the table
    for options in ({}, {"idempotent": True}, {"timeout": 5}, {"on_unknown": "park"}):
        with fail_after(PATIENCE):
            result = await agent_with(tool_of(hostile, threaded=threaded, **options)).run("hello")
        assert result.output == "done"
        (told,) = results(result)
        assert told.is_error
        assert told.text


@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_a_tool_raises_is_told_to_the_model_of_a_stored_run(hostile: Hostile) -> None:
    result = await run_beside_another(agent_with(tool_of(hostile)))
    assert result.output == "done"
    assert results(result)[0].is_error


@pytest.mark.parametrize("make", BUILTIN.values(), ids=BUILTIN.keys())
async def test_an_error_of_any_class_is_told(make: Callable[[], BaseException]) -> None:
    with fail_after(PATIENCE):
        result = await agent_with(tool_of(raising(make))).run("hello")
    assert (result.output, results(result)[0].is_error) == ("done", True)


def awaiting(behaviour: Callable[..., Awaitable[Any]]) -> Tool[..., object]:
    @tool
    async def act(text: str) -> object:
        "Act."
        return await behaviour(text)

    return act


@pytest.mark.parametrize("behaviour", ASYNC.values(), ids=ASYNC.keys())
async def test_a_tool_that_leaves_something_behind_harms_nobody(behaviour: Callable[..., Awaitable[Any]]) -> None:
    for run in (agent_with(awaiting(behaviour)).run("hello"), run_beside_another(agent_with(awaiting(behaviour)))):
        with fail_after(PATIENCE):
            result = await run
        assert result.output == "done"
        assert results(result)[0].is_error


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("behaviour", ASYNCIO.values(), ids=ASYNCIO.keys())
async def test_a_tool_that_plays_with_tasks_harms_nobody(behaviour: Callable[..., Awaitable[Any]]) -> None:
    result = await run_beside_another(agent_with(awaiting(behaviour)))
    assert result.output == "done"
    assert results(result)[0].is_error


async def test_what_a_tool_leaves_behind_is_said() -> None:
    result = await agent_with(awaiting(leak_a_scope)).run("hello")
    assert results(result)[0].text.startswith("the tool left a cancel scope open: leave each `with`")


async def test_a_keyboard_interrupt_is_never_contained() -> None:
    @tool
    async def act(text: str) -> None:
        "Act."
        raise BaseExceptionGroup("group", [KeyboardInterrupt()])

    with pytest.raises(BaseExceptionGroup) as caught:
        await agent_with(act).run("hello")
    assert caught.value.split(KeyboardInterrupt)[0] is not None


@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_a_validator_of_arguments_raises_is_told(hostile: Hostile) -> None:
    class Query(BaseModel):
        city: str

        @field_validator("city")
        @classmethod
        def _check(cls, city: str) -> str:
            hostile(city)
            return city

    @tool
    async def act(query: Query) -> str:
        "Act."
        return query.city

    model = ScriptedModel([call("act", query={"city": "Oslo"}), "done"])
    with fail_after(PATIENCE):
        result = await Agent("agent", prompt="", model=model, tools=[act]).run("hello")
    assert (result.output, results(result)[0].is_error) == ("done", True)


@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_a_validator_of_the_answer_raises_is_told(hostile: Hostile) -> None:
    class Report(BaseModel):
        city: str

        @field_validator("city")
        @classmethod
        def _check(cls, city: str) -> str:
            if city == "bad":
                hostile(city)
            return city

    model = ScriptedModel(['{"city": "bad"}', call("return", city="bad"), '{"city": "Oslo"}'])
    with fail_after(PATIENCE):
        result = await Agent("agent", prompt="", model=model, output=Report).run("hello")
    assert result.output == Report(city="Oslo")


class HookRoundTools:
    def __init__(self, hostile: Hostile) -> None:
        self._hostile = hostile

    async def tool_call(self, call: ToolCall, context: ToolContext, proceed: Any) -> ToolResult:  # noqa: ARG002  # a hook's signature
        made: ToolResult = self._hostile(call)
        return made


class HookRoundModels:
    def __init__(self, hostile: Hostile) -> None:
        self._hostile = hostile

    async def model_call(self, request: ModelRequest, _: object, call: Any) -> ModelResponse:  # noqa: ARG002  # as above
        made: ModelResponse = self._hostile(request)
        return made


@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_a_hook_round_tools_raises_is_told(hostile: Hostile) -> None:
    agent = agent_with(tool_of(str.upper), hooks=[HookRoundTools(hostile)])
    with fail_after(PATIENCE):
        result = await agent.run("hello")
    assert (result.output, results(result)[0].is_error) == ("done", True)


class ListeningHook:
    def __init__(self, hostile: Hostile) -> None:
        self._hostile = hostile

    async def model_call(self, request: ModelRequest, _: object, call: Any) -> ModelResponse:
        made: ModelResponse = await call(replace(request, on_token=self._hostile))
        return made


@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_a_listener_of_tokens_raises_the_answer_goes_on(hostile: Hostile) -> None:
    agent = Agent("agent", prompt="", model=ScriptedModel(["all is well"]), hooks=[ListeningHook(hostile)])
    with fail_after(PATIENCE):
        assert (await agent.run("hello")).output == "all is well"


@tool(needs_approval=True)
async def mail(text: str) -> str:
    "Send a mail."
    return "sent"


FAILING: dict[str, Callable[[Hostile], Agent[Any]]] = {
    "model": lambda f: Agent("agent", prompt="", model=FunctionModel(f)),
    "hook round models": lambda f: Agent("agent", prompt="", model=ScriptedModel(["x"]), hooks=[HookRoundModels(f)]),
    "prompt": lambda f: Agent("agent", prompt=f, model=ScriptedModel(["x"])),
}


@pytest.mark.parametrize("make", FAILING.values(), ids=FAILING.keys())
@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_else_raises_fails_the_run_at_its_place(
    make: Callable[[Hostile], Agent[Any]], hostile: Hostile
) -> None:
    with fail_after(PATIENCE), pytest.raises(AgentError):
        await make(hostile).run("hello")
    error = await run_beside_another(make(hostile))
    assert isinstance(error, RunFailed)
    assert "'infer'" in str(error)


@pytest.mark.parametrize("hostile", RAISED.values(), ids=RAISED.keys())
async def test_whatever_approve_raises_fails_the_run(hostile: Hostile) -> None:
    async def approve(asked: ToolCall) -> Any:
        return hostile(asked)

    with fail_after(PATIENCE), pytest.raises(AgentFailed):
        await agent_with(mail).run("hello", approve=approve)


async def test_cancelling_an_agent_from_outside_stays_cancellation() -> None:
    entered = anyio.Event()

    @tool
    async def act(text: str) -> None:
        "Act."
        entered.set()
        await anyio.sleep_forever()

    ended = False
    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(agent_with(act).run, "hello")
            await entered.wait()
            group.cancel_scope.cancel()
        ended = True
    assert ended
