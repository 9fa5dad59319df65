"""What runs cost: counted in results, in totals of teams, over a restart, and limited by a budget."""

import json
from dataclasses import replace

import pytest
from tests.agents._ways import Way, both_ways, result_of, started, working
from tests.agents._weather import look

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    BudgetExceeded,
    CostUnknown,
    LLMTool,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    ToolCall,
    Usage,
    call,
)
from stagepost.agents._definition._budget import Spent
from stagepost.agents._delegation._state import _SPENT
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import RunFailed

EACH = Usage(input_tokens=100, output_tokens=10, cost=0.25, cached_tokens=80, cache_writes=15, reasoning_tokens=5)
UNKNOWN = Usage(input_tokens=100, output_tokens=10)
LOOK, ASK = call("look", city="Oslo"), call("message_agent", agent_name="below", message="?")


def times(number: int) -> Usage:
    return sum([EACH] * number, Usage())


def costing(*said: str | ToolCall, usage: Usage = EACH) -> ScriptedModel:
    entries: list[ScriptEntry] = [
        ModelResponse(usage=usage, **({"text": each} if isinstance(each, str) else {"calls": [each]})) for each in said
    ]
    return ScriptedModel(entries)


@both_ways
@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -0.25])
async def test_a_cost_that_cannot_be_is_not_known(way: Way, cost: float) -> None:
    usage = Usage(input_tokens=100, cost=cost)
    result = await way(Agent("weather", "", model=costing("done", usage=usage)))
    assert result.usage == Usage(input_tokens=100)
    with pytest.raises(CostUnknown):
        await Agent("a", "", model=costing(LOOK, usage=usage), tools=[look], budget=Budget(cost=1)).run("?")


@both_ways
async def test_a_count_that_cannot_be_takes_nothing_off_a_budget(way: Way) -> None:
    odd = Usage(input_tokens=-100, output_tokens=10, cached_tokens=-1, cache_writes=-1, reasoning_tokens=-1, cost=0.5)
    result = await way(Agent("weather", "", model=costing("done", usage=odd)))
    assert result.usage == Usage(output_tokens=10, cost=0.5)


@both_ways
async def test_a_result_says_all_that_a_run_has_cost(way: Way) -> None:
    result = await way(Agent("weather", "", model=costing(LOOK, "done"), tools=[look]))
    assert result.usage == times(2)
    assert (result.usage.cost, result.usage.cached_tokens, result.usage.reasoning_tokens) == (0.5, 160, 10)


@both_ways
async def test_what_agents_below_have_cost_counts(way: Way) -> None:
    deep = Agent("deep", "", model=costing("fine"))
    below = Agent("below", "", model=costing(call("deep", request="?"), "fine"), tools=[AgentTool(deep)])
    judge = LLMTool("judge", "Is {text} good?", model=costing("yes"))
    calls = [ASK, call("judge", text="it")]
    model = ScriptedModel([ModelResponse(calls=calls, usage=EACH), ModelResponse("done", usage=EACH)])
    result = await way(Agent("lead", "", model=model, sub_agents=[below], tools=[judge]))
    assert result.usage == times(6)


@both_ways
async def test_a_cost_that_one_of_them_does_not_know_is_known_to_none(way: Way) -> None:
    below = Agent("below", "", model=costing("fine", usage=UNKNOWN))
    result = await way(Agent("lead", "", model=costing(ASK, "done"), sub_agents=[below]))
    assert (result.usage.cost, result.usage.input_tokens) == (None, 300)


async def test_the_cost_is_kept_over_a_restart() -> None:
    async with MemoryStore() as store:
        for life in range(2):
            below = Agent("below", "", model=costing("fine"))
            scripted = costing(ASK, "done")
            script = scripted if life else ScriptedModel([ModelResponse(calls=[ASK], usage=EACH), OSError("down")])
            lead = Agent("lead", "", model=script, sub_agents=[below])
            async with working(lead, store=store) as runner:
                if not life:
                    with pytest.raises(RunFailed):
                        await (await started(runner, lead)).result()
                    assert (await Tasks(runner).get("r")).usage == times(2)
                else:
                    result = await result_of(await runner.resume("r"), lead)
    assert result.usage == times(3)


def test_what_is_not_used_is_not_stored() -> None:
    plain = Spent(turns=1, tool_calls=2, input_tokens=3, output_tokens=4)
    assert _SPENT.dump(plain, "spent") == b'{"turns":1,"tool_calls":2,"input_tokens":3,"output_tokens":4}'
    assert plain.stored() == {"turns": 1, "tool_calls": 2, "input_tokens": 3, "output_tokens": 4}


@pytest.mark.parametrize(
    "spent",
    [
        Spent(turns=1).after(EACH, tool_calls=0),
        Spent(cost=0.0),
        Spent().after(Usage(input_tokens=1, cost=0), tool_calls=0),
    ],
    ids=["all", "free", "free of charge"],
)
def test_what_is_stored_comes_back(spent: Spent) -> None:
    assert _SPENT.load(_SPENT.dump(spent, "spent")) == spent
    assert Spent.read(json.loads(json.dumps(dict(spent.stored())))) == spent


@pytest.mark.parametrize(
    ("one", "other", "cost"),
    [
        (Spent(input_tokens=1, cost=0.5), Spent(input_tokens=1, cost=0.25), 0.75),
        (Spent(input_tokens=1, cost=0.5), Spent(turns=1), 0.5),
        (Spent(turns=1), Spent(input_tokens=1, cost=0.5), 0.5),
        (Spent(input_tokens=1, cost=0.5), Spent(input_tokens=1), None),
        (Spent(input_tokens=1), Spent(input_tokens=1, cost=0.5), None),
        (Spent(), Spent(), None),
    ],
    ids=["known", "nothing after", "nothing before", "unknown after", "unknown before", "nothing"],
)
def test_costs_add_up_if_all_are_known(one: Spent, other: Spent, cost: float | None) -> None:
    assert (one + other).cost == cost
    assert one.after(other.usage, tool_calls=0).cost == cost
    assert (one.usage + other.usage).cost == cost


@both_ways
async def test_a_budget_limits_the_cost_before_a_further_turn(way: Way) -> None:
    enough = Agent("weather", "", model=costing(LOOK, "done"), tools=[look], budget=Budget(cost=0.3))
    assert (await way(enough)).usage.cost == 0.5, "the last answer may cost more than is left, as with tokens"
    too_dear = Agent("weather", "", model=costing(LOOK, LOOK, "done"), tools=[look], budget=Budget(cost=0.5))
    with pytest.raises((BudgetExceeded, RunFailed), match=r"budget of 0\.5 US dollars \(0\.5 so far\): raise it"):
        await way(too_dear)


async def test_the_error_says_what_was_spent() -> None:
    agent = Agent("weather", "", model=costing(LOOK, "done"), tools=[look], budget=Budget(cost=0.2))
    with pytest.raises(BudgetExceeded) as caught:
        await agent.run("?")
    assert (caught.value.budget, caught.value.limit, caught.value.used) == ("cost", 0.2, 0.25)


@both_ways
async def test_the_budget_of_the_root_limits_the_cost_of_all(way: Way) -> None:
    below = Agent("below", "", model=costing(LOOK, LOOK, "fine"), tools=[look])
    lead = Agent("lead", "", model=costing(ASK, "done"), sub_agents=[below], budget=Budget(cost=0.5))
    with pytest.raises((BudgetExceeded, RunFailed), match=r"'lead' needs more than its budget of 0\.5 US dollars"):
        await way(lead)


async def test_a_larger_budget_lets_the_run_go_on() -> None:
    async with MemoryStore() as store:
        agent = Agent("weather", "", model=costing(LOOK, "done"), tools=[look], budget=Budget(cost=0.2))
        async with working(agent, store=store) as runner:
            with pytest.raises(RunFailed):
                await (await started(runner, agent)).result()
        richer = replace(agent, budget=Budget(cost=1), model=costing(LOOK, "done"))
        async with working(richer, store=store) as runner:
            result = await result_of(await runner.resume("r"), richer)
    assert (result.output, result.usage.cost) == ("done", 0.5)


@both_ways
async def test_a_cost_that_nobody_knows_is_no_cost_within_a_budget(way: Way) -> None:
    agent = Agent("weather", "", model=costing(LOOK, "done", usage=UNKNOWN), tools=[look], budget=Budget(cost=5))
    with pytest.raises((CostUnknown, RunFailed), match=r"'weather' has a budget of 5 US dollars, and a model"):
        await way(agent)


async def test_a_hook_may_say_what_an_answer_costs() -> None:
    class Priced:
        async def model_call(self, request: ModelRequest, _: object, call: object) -> ModelResponse:
            response: ModelResponse = await call(request)  # type: ignore[operator]  # it asks
            usage = response.usage
            return replace(response, usage=usage.model_copy(update={"cost": usage.tokens / 1000}))

    agent = Agent("w", "", model=costing("done", usage=UNKNOWN), budget=Budget(cost=5), hooks=[Priced()])
    assert (await agent.run("?")).usage.cost == 0.11


@both_ways
async def test_a_model_that_counts_nothing_has_cost_nothing(way: Way) -> None:
    agent = Agent("w", "", model=ScriptedModel([LOOK, "done"]), tools=[look], budget=Budget(cost=1, tokens=1))
    assert (await way(agent)).output == "done"


@pytest.mark.parametrize("cost", [0, -1, float("nan"), float("inf"), "5", True], ids=str)
def test_a_cost_that_is_no_amount_is_refused(cost: float) -> None:
    with pytest.raises(ValueError, match="give US dollars, more than 0, or None for no limit"):
        Budget(cost=cost)


@pytest.mark.parametrize("turns", ["5", 1.5, True], ids=str)
def test_a_limit_that_is_no_number_is_refused(turns: int) -> None:
    with pytest.raises(ValueError, match="turns: give a whole number of at least 1, or None for no limit"):
        Budget(turns=turns)
