"""A budget that a lead and the agents below it share."""

from typing import Any

import anyio
import pytest
from tests.agents._ways import Way, both_ways, result_of, started, working
from tests.agents._weather import look, results

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    BudgetExceeded,
    LLMTool,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Usage,
    call,
)
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import RunFailed

ASK = call("message_agent", agent_name="worker", message="Work.")


class Busy:
    """A model that calls a tool for as long as it is given any."""

    def __init__(self, tokens: int = 0) -> None:
        self.asked = 0
        self._usage = Usage(input_tokens=tokens, output_tokens=0)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        self.asked += 1
        await anyio.lowlevel.checkpoint()
        if not any(tool.name == "look" for tool in request.tools):
            return ModelResponse("no more", usage=self._usage)
        return ModelResponse(calls=[call("look", city="Oslo")], usage=self._usage)


def worker(model: Busy, **options: Any) -> Agent[str]:
    return Agent("worker", prompt="Work.", model=model, tools=[look], **options)


@both_ways
@pytest.mark.parametrize(
    ("turns", "below"),
    [pytest.param(10, 8, id="ten"), pytest.param(3, 1, id="three")],
)
async def test_agent_below_has_what_the_root_has_left_but_for_the_roots_last_turn(
    way: Way, turns: int, below: int
) -> None:
    busy = Busy()
    model = ScriptedModel([ASK, "done"])
    result = await way(
        Agent("lead", prompt="", model=model, sub_agents=[worker(busy)], budget=Budget(turns=turns, tool_calls=None))
    )
    assert (busy.asked, result.output, len(model.requests)) == (below, "done", 2)


@both_ways
async def test_each_agent_between_keeps_a_turn_of_its_own(way: Way) -> None:
    busy = Busy()
    middle = Agent("middle", prompt="", model=ScriptedModel([ASK, "passed on"]), sub_agents=[worker(busy)])
    model = ScriptedModel([call("message_agent", agent_name="middle", message="?"), "done"])
    result = await way(Agent("lead", prompt="", model=model, sub_agents=[middle], budget=Budget(turns=8)))
    assert (busy.asked, result.output) == (4, "done")


@both_ways
async def test_agents_at_once_do_not_use_one_turn_twice(way: Way) -> None:
    busy = Busy()
    model = ScriptedModel([[ASK] * 3, "done"])
    lead = Agent("lead", prompt="", model=model, sub_agents=[worker(busy)], budget=Budget(turns=12))
    result = await way(lead)
    assert result.output == "done"
    assert busy.asked == 10


@both_ways
async def test_agent_that_gets_no_turn_any_more_says_whose_budget_is_used_up(way: Way) -> None:
    model = ScriptedModel([[ASK, ASK], "done"])
    lead = Agent("lead", prompt="", model=model, sub_agents=[worker(Busy())], budget=Budget(turns=3))
    refused, answered = sorted(results(await way(lead)), key=lambda result: not result.is_error)
    assert "agent 'lead' needs more than its budget of 3 turns" in refused.text
    assert '"response":"no more"' in answered.text


@both_ways
async def test_tokens_of_all_together_count_and_the_root_has_failed_when_they_are_used_up(way: Way) -> None:
    judge = LLMTool("judge", "Judge {text}.", model=Busy(tokens=30))
    model = ScriptedModel([[ASK, call("judge", text="it")], "never"])
    busy = Busy(tokens=30)
    lead = Agent("lead", prompt="", model=model, sub_agents=[worker(busy)], tools=[judge], budget=Budget(tokens=100))
    with pytest.raises((BudgetExceeded, RunFailed), match=r"'lead'.*100 tokens"):
        await way(lead)
    assert len(model.requests) == 1


@both_ways
async def test_calls_of_all_together_count(way: Way) -> None:
    busy = Busy()
    model = ScriptedModel([ASK, "done"])
    lead = Agent("lead", prompt="", model=model, sub_agents=[worker(busy)], budget=Budget(tool_calls=3))
    (refused,) = results(await way(lead))
    assert "agent 'lead' needs more than its budget of 3 tool calls" in refused.text
    assert busy.asked == 3


@both_ways
async def test_agents_own_smaller_budget_holds_too(way: Way) -> None:
    busy = Busy()
    model = ScriptedModel([call("worker", request="?"), "done"])
    below = AgentTool(worker(busy, budget=Budget(turns=2)))
    result = await way(Agent("lead", prompt="", model=model, tools=[below]))
    assert (busy.asked, result.output) == (2, "done")


async def test_what_was_used_before_a_restart_counts_behind_it() -> None:
    async with MemoryStore() as store:
        for life in range(2):
            busy = Busy()
            script: list[ScriptEntry] = [ASK, *([OSError("down")] if life == 0 else []), ASK, "done"]
            lead = Agent(
                "lead",
                prompt="",
                model=ScriptedModel(script),
                sub_agents=[worker(busy, budget=Budget(turns=3))],
                budget=Budget(turns=7),
            )
            async with working(lead, store=store) as runner:
                if life == 0:
                    with pytest.raises(RunFailed):
                        await (await started(runner, lead)).result()
                else:
                    result = await result_of(await runner.resume("r"), lead)
    assert result.output == "done"
    assert busy.asked == 1, "seven less three of the first conversation, two of the lead's, and its last"


@both_ways
async def test_what_an_agent_has_used_that_failed_counts_too(way: Way) -> None:
    answers = [ModelResponse(calls=[call("look", city="Oslo")], usage=Usage(input_tokens=50, output_tokens=0))]
    below = Agent("worker", prompt="", model=ScriptedModel([*answers, OSError("down")]), tools=[look])
    result = await way(Agent("lead", prompt="", model=ScriptedModel([ASK, "done"]), sub_agents=[below]))
    assert results(result)[0].is_error
    assert result.usage.input_tokens == 50
