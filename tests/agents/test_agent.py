from dataclasses import FrozenInstanceError, replace

import pytest
from pydantic import BaseModel

from stagepost.agents import Agent, Budget, InvalidAgent, ModelMissing, ScriptedModel, Tool, tool
from stagepost.hub import InvalidName


class Query(BaseModel):
    city: str
    days: int = 1


@tool
def look(city: str) -> str:
    "Look."
    return city


def test_an_agent_is_frozen_data() -> None:
    agent = Agent("weather", prompt="Answer.", tools=[look], input=Query, output=Query, budget=Budget(turns=2))
    assert (agent.name, agent.prompt, agent.tools, agent.input) == ("weather", "Answer.", (look,), Query)
    assert (agent.output, agent.budget, agent.model) == (Query, Budget(turns=2), None)
    with pytest.raises(FrozenInstanceError):
        agent.prompt = "Answer kindly."  # type: ignore[misc]  # what is under test
    assert replace(agent, prompt="Answer kindly.").prompt == "Answer kindly."


def test_plain_functions_become_tools() -> None:
    made = Agent("weather", prompt="", tools=[look.function]).tools[0]
    assert isinstance(made, Tool)
    assert (made.name, made.idempotent) == ("look", False)


def named(name: str) -> Tool[..., object]:
    return tool(name=name)(look.function)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: Agent("w", prompt="", tools=[look, look]), "two tools are named 'look': rename one"),
        (lambda: Agent("w", prompt="", tools=[named("return")]), "'return' is reserved"),
        (lambda: Agent("w", prompt="", tools=[named("fail")]), "'fail' is reserved"),
        (lambda: Agent("w", prompt="In {town}.", input=Query), r"\{town\}, and input=Query .* has city, days\)"),
        (lambda: Agent("w", prompt="In {town}."), r"give input=.* or write \{\{town\}\}"),
        (lambda: Agent("w", prompt="", model="gpt"), "give an object with `async def answer"),  # type: ignore[call-overload]
        (lambda: Agent("w", prompt="", input=dict), "is no pydantic model"),  # type: ignore[arg-type]
        (lambda: Agent("w", prompt="", output=str), "is no pydantic model"),  # type: ignore[type-var]
        (lambda: Agent("w", prompt="", output=Query(city="")), "is no pydantic model"),  # type: ignore[call-overload]
    ],
    ids=["twice", "return", "fail", "unknown", "no input", "model", "input", "output", "instance"],
)
def test_a_wrong_definition_is_refused_where_it_is_built(build: object, why: str) -> None:
    with pytest.raises(InvalidAgent, match=f"agent 'w': .*{why}"):
        build()  # type: ignore[operator]  # a lambda


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 101], ids=["empty", "space", "dot", "long"])
def test_names_follow_the_rule(name: str) -> None:
    with pytest.raises(InvalidName, match="agent name"):
        Agent(name, prompt="")


def test_names_with_hyphens_work() -> None:
    assert Agent("stock-lookup_2", prompt="", model=ScriptedModel([])).as_workflow().name == "stock-lookup_2"


async def test_no_model_anywhere_is_an_error_before_the_first_turn() -> None:
    agent = Agent("weather", prompt="Answer.")
    with pytest.raises(ModelMissing, match="'weather' has no model: give it one") as caught:
        await agent.run("Miami?")
    assert caught.value.agent == "weather"
    with pytest.raises(ModelMissing):
        agent.as_workflow()


def test_the_workflow_is_always_the_same_one() -> None:
    agent = Agent("weather", prompt="Answer.", model=ScriptedModel([]))
    assert agent.as_workflow() is agent.as_workflow()


def test_the_model_does_not_show_in_the_representation() -> None:
    assert "model" not in repr(Agent("weather", prompt="", model=ScriptedModel([])))
