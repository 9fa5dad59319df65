"""Agents and prompts that are tools, as runs below the run that calls them."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.agents._ways import Way, both_ways, result_of, started, working
from tests.agents._weather import REPORT, Query, Report, look, results
from tests.agents.test_crash import Instant, MortalStore

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    LLMTool,
    ModelContext,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    ToolCall,
    ToolContext,
    ToolResult,
    Usage,
    call,
    tool,
)
from stagepost.checkpoint import Commit, Lease, MemoryStore, NewRun, RunInfo, RunStatus, StoreFailed
from stagepost.workflows import RunFailed, Runner


class Verdict(BaseModel):
    good: bool


def costing(answer: str | ToolCall, tokens: int) -> ModelResponse:
    usage = Usage(input_tokens=tokens, output_tokens=1)
    return ModelResponse(answer, usage=usage) if isinstance(answer, str) else ModelResponse(calls=[answer], usage=usage)


class Watched:
    """A hook that writes down what passes it; as often as it is told, it makes a call once more."""

    def __init__(self, log: list[str], *, again: int = 0) -> None:
        self._log = log
        self._again = again

    async def model_call(
        self, request: ModelRequest, _: ModelContext, call: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        self._log.append(f"asks: {request.messages[-1].text}")
        return await call(request)

    async def tool_call(
        self, call: ToolCall, context: ToolContext, proceed: Callable[[ToolCall], Awaitable[ToolResult]]
    ) -> ToolResult:
        for _ in range(self._again):
            await proceed(call)
        result = await proceed(call)
        self._log.append(f"{context.agent} called {call.name}: {result.text}")
        return result


@both_ways
async def test_agents_and_prompts_that_are_tools_are_asked_with_what_they_take_and_their_cost_counts(way: Way) -> None:
    weather = Agent(
        "weather",
        prompt="Weather.",
        model=ScriptedModel([costing(call("look", city="Oslo"), 10), costing(REPORT, 20)]),
        tools=[look],
        input=Query,
        output=Report,
    )
    judge = LLMTool("judge", "Is {text} good?", model=ScriptedModel([costing('{"good": true}', 40)]), output=Verdict)
    both = ModelResponse(
        calls=[call("weather", city="Oslo"), call("judge", text="rain")], usage=Usage(input_tokens=1, output_tokens=1)
    )
    model = ScriptedModel([both, costing("take a coat", 2)])
    result = await way(Agent("lead", prompt="Plan.", model=model, tools=[AgentTool(weather), judge]))
    assert [each.text for each in results(result)] == ['{"city":"Oslo","degrees":3}', '{"good":true}']
    assert (result.output, result.turns) == ("take a coat", 2)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (73, 5)


async def test_under_a_runner_each_call_is_a_run_below_the_calling_one() -> None:
    helper = Agent("helper", prompt="Help.", model=ScriptedModel(["helped"]))
    shorten = LLMTool("shorten", "Shorten {text}", model=ScriptedModel(["short"]))
    model = ScriptedModel([[call("helper", request="?"), call("shorten", text="long")], "done"])
    lead = Agent("lead", prompt="Plan.", model=model, tools=[AgentTool(helper), shorten])
    async with working(lead) as runner:
        await (await started(runner, lead)).result()
        runs = [await runner.get(each) for each in ("r.helper-0-0-tool", "r.shorten-0-1-tool")]
        assert [(run.workflow, (await run.result())["output"]) for run in runs] == [
            ("lead:helper", "helped"),
            ("lead:shorten", "short"),
        ]


@both_ways
async def test_agent_and_tool_whose_names_differ_by_a_number_do_not_meet_in_one_run(way: Way) -> None:
    helper = Agent("x", prompt="Help.", model=ScriptedModel(["helped"]))
    calls = [call("look", city="Oslo"), call("message_agent", agent_name="x", message="?")]
    model = ScriptedModel([calls, call("x-0", request="?"), "done"])
    lead = Agent("lead", prompt="", model=model, tools=[look, AgentTool(helper, name="x-0")], sub_agents=[helper])
    *_, last = results(await way(lead))
    assert (last.text, last.is_error) == ("helped", False)


async def test_run_that_is_resumed_asks_nothing_twice_that_the_runs_below_it_have_answered() -> None:
    asked = ScriptedModel(["helped"])
    helper = Agent("helper", prompt="Help.", model=asked)
    model = ScriptedModel([call("helper", request="?"), OSError("down"), "done"])
    lead = Agent("lead", prompt="Plan.", model=model, tools=[AgentTool(helper)])
    async with working(lead) as runner:
        with pytest.raises(RunFailed, match="down"):
            await (await started(runner, lead)).result()
        assert (await result_of(await runner.resume("r"), lead)).output == "done"
    assert len(asked.requests) == 1


@both_ways
async def test_hooks_of_the_caller_stand_round_the_call_and_those_of_the_called_round_what_it_does(way: Way) -> None:
    outer: list[str] = []
    inner: list[str] = []
    asked = ScriptedModel([call("look", city="Oslo"), "3 degrees"])
    helper = Agent("helper", prompt="Help.", model=asked, tools=[look], hooks=[Watched(inner)])
    model = ScriptedModel([call("helper", request="Oslo?"), "done"])
    lead = Agent("lead", prompt="Plan.", model=model, tools=[AgentTool(helper)], hooks=[Watched(outer, again=1)])
    await way(lead)
    assert outer == ["asks: go", "lead called helper: 3 degrees", "asks: 3 degrees"]
    seen = '{"city":"Oslo","degrees":3}'
    assert inner == ["asks: Oslo?", f"helper called look: {seen}", f"asks: {seen}"]
    assert len(asked.requests) == 2, "a hook that proceeds twice joins the run that there is"


@both_ways
@pytest.mark.parametrize(
    ("script", "why"),
    [
        pytest.param([ValueError("no net")], "ValueError: no net", id="fails"),
        pytest.param([call("fail", reason="no map")], "no map", id="gives up"),
        pytest.param(["?", "?"], "BudgetExceeded", id="has no more budget"),
    ],
)
async def test_agent_that_comes_to_nothing_is_told_why_and_the_caller_goes_on(
    way: Way, script: list[ScriptEntry], why: str
) -> None:
    helper = Agent("h", prompt="", model=ScriptedModel(script), output=Report, budget=Budget(turns=2))
    model = ScriptedModel([call("h", request="?"), "then not"])
    result = await way(Agent("lead", prompt="Plan.", model=model, tools=[AgentTool(helper)]))
    (said,) = results(result)
    assert said.is_error
    assert why in said.text
    assert result.output == "then not"


def hung(tokens: int, timeout: float | None = 0.1) -> Agent[str]:
    """A lead whose helper never comes to an end, and has cost something by then."""

    @tool(idempotent=True)
    async def hang() -> None:
        await anyio.sleep_forever()

    helper = Agent("helper", prompt="Help.", model=ScriptedModel([costing(call("hang"), tokens)]), tools=[hang])
    model = ScriptedModel([call("helper", request="?"), "done"])
    return Agent("lead", prompt="", model=model, tools=[AgentTool(helper, timeout=timeout)])


@both_ways
async def test_agent_that_takes_too_long_is_given_up(way: Way) -> None:
    result = await way(hung(0))
    assert [each.text for each in results(result)] == ["timed out after 0.1 s"]
    assert result.output == "done"


async def test_run_of_an_agent_that_takes_too_long_is_cancelled_and_counted() -> None:
    agent = hung(7)
    async with working(agent) as runner:
        run = await started(runner, agent)
        result = await result_of(run, agent)
        child = await runner.runs.get(f"{run.id}.helper-0-0-tool")
    assert child.status is RunStatus.CANCELLED
    assert result.usage.input_tokens == 7


@pytest.mark.parametrize("instant", ["before", "behind"])
@pytest.mark.parametrize("last", range(6))
async def test_p7_agent_that_takes_too_long_is_told_as_such_wherever_the_process_dies(
    last: int, instant: Instant
) -> None:
    store = MortalStore()
    store.last, store.instant = last, instant
    with fail_after(5):
        async with store, Runner(store, workflows=[agent := hung(0)], grace=0) as runner:
            with pytest.raises(StoreFailed):
                await (await started(runner, agent)).result()
        store.last = None
        async with store, Runner(store, workflows=[agent := hung(0)], grace=0) as runner:
            await runner.recover()
            result = await result_of(await runner.get("r"), agent)
            child = await runner.runs.get("r.helper-0-0-tool")
    assert [each.text for each in results(result)] == ["timed out after 0.1 s"]
    assert child.status is RunStatus.CANCELLED


async def test_p7_agent_that_has_taken_too_long_is_given_up_also_where_it_may_take_any_time_since() -> None:
    store = MortalStore()
    store.last = 3  # the mark is saved, and the end of the run below is not
    async with store, working(agent := hung(0), store=store, grace=0) as runner:
        with pytest.raises(StoreFailed):
            await (await started(runner, agent)).result()
    store.last = None
    async with store, working(agent := hung(0, timeout=None), store=store) as runner:
        await runner.recover()
        result = await result_of(await runner.get("r"), agent)
    assert [each.text for each in results(result)] == ["timed out"]


@both_ways
async def test_agent_for_which_nobody_waits_when_it_would_begin_does_not_begin(way: Way) -> None:
    helper = ScriptedModel(["here"])
    model = ScriptedModel([call("helper", request="?"), "done"])
    tool_of = AgentTool(Agent("helper", prompt="Help.", model=helper), timeout=1e-9)
    result = await way(Agent("lead", prompt="", model=model, tools=[tool_of]))
    assert [each.text for each in results(result)] == ["timed out after 1e-09 s"]
    assert not helper.requests


async def test_run_of_an_agent_that_is_given_up_while_it_is_being_stored_is_cancelled_too() -> None:
    class Slow(MemoryStore):
        given_up = anyio.Event()

        async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
            if run.run_id != "r":
                await self.given_up.wait()
            return await super().create(run)

        async def commit(self, commit: Commit) -> None:
            await super().commit(commit)
            if any(effect.key == "late-0-0" for effect in commit.effects):
                self.given_up.set()

    agent = hung(0)
    async with Slow() as store, working(agent, store=store) as runner:
        result = await result_of(await started(runner, agent), agent)
        child = await runner.runs.get("r.helper-0-0-tool")
    assert [each.text for each in results(result)] == ["timed out after 0.1 s"]
    assert child.status is RunStatus.CANCELLED


@both_ways
async def test_tool_of_ones_own_may_have_the_name_that_speaking_to_agents_has_elsewhere(way: Way) -> None:
    @tool
    async def message_agent(text: str) -> str:
        return f"sent: {text}"

    model = ScriptedModel([call("message_agent", text="hi"), "done"])
    assert [each.text for each in results(await way(Agent("a", prompt="", model=model, tools=[message_agent])))] == [
        "sent: hi"
    ]


class Repairing:
    """A hook that gives a message the address that it lacks."""

    async def tool_call(
        self,
        call: ToolCall,
        context: ToolContext,  # noqa: ARG002  # the protocol's
        proceed: Callable[[ToolCall], Awaitable[ToolResult]],
    ) -> ToolResult:
        return await proceed(call.model_copy(update={"arguments": '{"agent_name": "helper", "message": "hi"}'}))


@both_ways
async def test_hook_that_addresses_a_message_anew_is_told_that_it_cannot(way: Way) -> None:
    helper = Agent("helper", prompt="", model=ScriptedModel(["helped"]))
    model = ScriptedModel([call("message_agent", agent_nam="helper"), "done"])
    result = await way(Agent("lead", prompt="", model=model, sub_agents=[helper], hooks=[Repairing()]))
    (said,) = results(result)
    assert said.text.startswith("nothing was sent")
    assert result.output == "done"
