"""Agents with programs among other agents: asked by them, asking them, sharing budgets, handing over."""

from typing import Any

import pytest
from tests.agents._ways import both_ways
from tests.agents.programs._orders import Asked, last, look

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    BudgetExceeded,
    ModelRequest,
    ScriptedModel,
    UserMessage,
    call,
    handoff,
)
from stagepost.programs import PtcLisp


def counter(*programs: str, **given: Any) -> Agent[Any]:
    """An agent with programs that takes a text and returns a number."""
    options: dict[str, Any] = {"model": ScriptedModel(programs), "programs": PtcLisp(), "output": int, **given}
    return Agent("counter", "Count.", description="Counts.", **options)


@both_ways
async def test_an_agent_with_programs_is_a_tool_and_a_sub_agent_of_others(way: Any) -> None:
    below = counter("(println data/request)", "(return (count data/request))")
    lead = Agent(
        "lead",
        "Lead.",
        model=ScriptedModel(
            [[call("counter", request="abc")], call("message_agent", agent_name="counter", message="ab"), "done"]
        ),
        tools=[AgentTool(below)],
        sub_agents=[below],
    )
    result = await way(lead)
    texts = [message.text for message in result.messages if message.role == "tool"]
    assert texts[0] == "3"
    assert '"response":2' in texts[1]
    assert result.turns == 3


@both_ways
async def test_a_program_asks_agents_in_branches(way: Any) -> None:
    below = Agent("writer", "Write.", model=ScriptedModel(["a poem"]), description="Writes.")
    program = """
    (let [poems (pmap (fn [about] (tool/writer {:request about})) ["tea" "rain"])
          talk (tool/message_agent {:agent_name "writer" :message "One more."})]
      (println (:response talk))
      (return {:total (count poems) :names poems}))
    """
    asked = Asked(program, tools=[AgentTool(below)], sub_agents=[below], input=None)
    result = await way(asked.agent)
    assert result.output.names == ["a poem", "a poem"]
    assert [conversation.agent for conversation in result.conversations] == ["writer"]
    assert "tool/writer(request :string)" in asked.prompts[0]
    assert "tool/message_agent(" in asked.prompts[0]


@both_ways
async def test_all_agents_below_a_root_share_its_turns(way: Any) -> None:
    below = counter(*["(def a 1)"] * 9, budget=Budget(turns=9))
    asked = Asked(
        '(pcalls (fn [] (tool/counter {:request "a"})) (fn [] (tool/counter {:request "b"})))',
        "(return {:total 5})",
        tools=[AgentTool(below)],
        input=None,
        turns=6,
    )
    result = await way(asked.agent)
    assert result.output.total == 5
    assert "Tool 'counter' failed" in asked.model.requests[1].messages[-2].text
    assert "FINAL WORK TURN" in last(asked.model.requests[1])
    model = below.model
    assert isinstance(model, ScriptedModel)
    assert 2 <= len(model.requests) <= 4


async def test_a_shared_last_turn_has_no_tools_and_says_so() -> None:
    below = counter("(def a 1)", "(return 4)", tools=[look], budget=Budget(turns=9))
    asked = Asked('(return {:total (tool/counter {:request "a"})})', tools=[AgentTool(below)], input=None, turns=4)
    assert (await asked.agent.run("go")).output.total == 4
    model = below.model
    assert isinstance(model, ScriptedModel)
    assert "FINAL WORK TURN" in last(model.requests[1])
    assert ";; No tools available" in model.requests[1].messages[0].text


async def test_the_kind_of_a_shared_budget_is_told() -> None:
    below = counter(*["(def a 1)"] * 9, budget=Budget(turns=9))
    lead = Agent(
        "lead",
        "Lead.",
        model=ScriptedModel([call("counter", request="a")] * 9),
        tools=[AgentTool(below)],
        budget=Budget(turns=3),
    )
    with pytest.raises(BudgetExceeded):
        await lead.run("go")


class Reading:
    """A model that answers with one text, and keeps its requests."""

    def __init__(self, answer: str) -> None:
        self.requests: list[ModelRequest] = []
        self._script = ScriptedModel([answer] * 9)

    async def answer(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        return await self._script.answer(request)


@both_ways
async def test_a_program_hands_over_and_ends_there(way: Any) -> None:
    taking = Reading("I take it.")
    taker = Agent("taker", "Take.", model=taking, description="Takes over.")
    asked = Asked(
        "(def a 1) (tool/look {:id 1}) (tool/transfer_to_taker {}) (def b 2)",
        tools=[look, handoff(taker)],
        input=None,
        output=None,
    )
    result = await way(asked.agent)
    assert (result.output, result.agent) == ("I take it.", "taker")
    (request,) = taking.requests
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "user"]
    assert isinstance(request.messages[-1], UserMessage)


@both_ways
async def test_an_agent_with_programs_takes_over(way: Any) -> None:
    script = ScriptedModel(["before", "(println (:name (tool/look {:id 1})))", "(return 8)"])
    taker = counter(tools=[look], output=None, model=script)
    lead = Agent("lead", "Lead.", model=ScriptedModel([call("transfer_to_counter")]), tools=[handoff(taker)])
    result = await way(lead)
    assert (result.output, result.agent) == ("8", "counter")
