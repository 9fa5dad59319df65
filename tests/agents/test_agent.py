import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, cast

import pytest
from pydantic import BaseModel

from stagepost.agents import (
    Agent,
    Approvals,
    Budget,
    InvalidAgent,
    McpServer,
    ModelMissing,
    ScriptedModel,
    Tool,
    tool,
)
from stagepost.agents._definition._definition import reachable
from stagepost.hub import InvalidName


class Query(BaseModel):
    city: str
    days: int = 1


class Opaque:
    pass


@tool
def look(city: str) -> str:
    "Look."
    return city


LEAF = Agent("leaf", prompt="")


def test_an_agent_is_frozen_data() -> None:
    agent = Agent("weather", prompt="Answer.", tools=[look], input=Query, output=Query, budget=Budget(turns=2))
    assert (agent.name, agent.prompt, agent.tools, agent.input) == ("weather", "Answer.", (look,), Query)
    assert (agent.output, agent.budget, agent.model, agent.description) == (Query, Budget(turns=2), None, "")
    assert (agent.servers, agent.sub_agents, agent.hooks, agent.models) == ((), (), (), {})
    assert agent.approvals == Approvals()
    with pytest.raises(FrozenInstanceError):
        agent.prompt = "Answer kindly."  # type: ignore[misc]  # what is under test
    assert replace(agent, prompt="Answer kindly.").prompt == "Answer kindly."


def test_a_copy_with_changes_keeps_the_rest() -> None:
    server, guard, helper, model = McpServer.stdio("clock"), Guard(), Agent("helper", prompt=""), ScriptedModel([])
    agent = Agent(
        "lead",
        prompt="",
        tools=[look, server],
        sub_agents=[helper, "other"],
        approvals=["look"],
        hooks=[guard],
        description="Leads.",
        models={"fast": model},
    )
    copy = replace(agent, prompt="Lead.")
    assert (copy.tools, copy.servers, copy.sub_agents) == ((look,), (server,), (helper, "other"))
    assert (copy.approvals, copy.hooks, copy.models) == (Approvals(["look"]), (guard,), {"fast": model})
    assert (copy.prompt, copy.description) == ("Lead.", "Leads.")


def test_no_tool_is_called_message_agent_only_where_there_are_sub_agents() -> None:
    assert Agent("w", prompt="", tools=[named("message_agent")]).tools[0].name == "message_agent"


def test_plain_functions_become_tools() -> None:
    made = Agent("weather", prompt="", tools=[look.function]).tools[0]
    assert isinstance(made, Tool)
    assert (made.name, made.idempotent) == ("look", False)


class Guard:
    async def tool_call(self, *given: object) -> object:
        return given


class Asking(Tool[..., object]):
    def __init__(self, agent: Agent[object]) -> None:
        made = tool(name="ask")(look.function)
        super().__init__(**{each.name: getattr(made, each.name) for each in fields(made)})
        vars(self)["agent"] = agent  # frozen


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
        (lambda: Agent("w", prompt="", model=7), "model=7 is not a model: .* with `async def answer"),  # type: ignore[call-overload]
        (lambda: Agent("w", prompt="", model=""), "model='' is not a model: give a name"),
        (lambda: Agent("w", prompt="", models={"fast": ""}), r"models\['fast'\]='' is not a model"),
        (lambda: Agent("w", prompt="", models={"a": "b", "b": "c"}), r"models\['a'\] is 'b', another name"),
        (lambda: Agent("w", prompt="", input=dict), "is not a pydantic model"),  # type: ignore[arg-type]
        (lambda: Agent("w", prompt="", output=Opaque), "output=.*Opaque'>: pydantic cannot check it"),
        (lambda: Agent("w", prompt="", output=Query(city="")), "is not a type: give a class"),  # type: ignore[call-overload]
        (lambda: Agent("w", prompt="", tools=[Agent("s", prompt="")]), "cannot be called: .* agents in sub_agents="),  # type: ignore[list-item]
        (lambda: Agent("w", prompt="", tools=[named("message_agent")], sub_agents=["s"]), "'message_agent' is res"),
        (lambda: Agent("w", prompt="", sub_agents="s"), r"is one text: use a list, \['s'\]"),
        (lambda: Agent("w", prompt="", sub_agents=[7]), "sub_agents contains 7, which is not an agent"),  # type: ignore[list-item]
        (lambda: Agent("w", prompt="", sub_agents=["s", Agent("s", prompt="")]), "two of its sub-agents are named 's'"),
        (lambda: Agent("w", prompt="", sub_agents=["w"]), "'w' has its own name: no agent can ask itself"),
        (
            lambda: Agent("w", prompt="", hooks=[look]),
            "which is not a hook: give .* `async def model_call`, `tool_call` or `tool_progress`",
        ),
        (lambda: Agent("w", prompt="", hooks=[Guard]), "which is not a hook"),
        (lambda: Agent("w", prompt="", approvals="send_*"), r"approvals: rules='send_\*' is one text"),
        (lambda: Agent("w", prompt="", approvals=[3]), "approvals: rules contains 3"),  # type: ignore[list-item]
    ],
    ids=[
        "tool twice",
        "return",
        "fail",
        "unknown field",
        "no input",
        "model",
        "empty model",
        "named model",
        "chained names",
        "input",
        "output",
        "instance",
        "agent as tool",
        "message_agent",
        "one text",
        "no agent",
        "sub-agent twice",
        "itself",
        "no hook",
        "class of hooks",
        "one rule",
        "no rule",
    ],
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


async def test_a_name_in_models_means_that_model() -> None:
    agent = Agent(
        "echo", prompt="", model="fast", models={"fast": ScriptedModel(["hi"]), "slow": ScriptedModel(["oh"])}
    )
    assert agent.model == "fast"
    assert (await agent.run("?")).output == "hi"
    assert (await agent.run("?", override_model="slow")).output == "oh"


def test_the_agent_that_a_tool_asks_is_described_with_it() -> None:
    (described,) = cast("list[dict[str, object]]", Agent("w", prompt="", tools=[Asking(LEAF)]).describe()["tools"])
    assert described["agent"] == LEAF.describe()


async def test_an_agent_whose_sub_agent_is_only_a_name_does_not_run() -> None:
    middle = Agent("middle", prompt="", sub_agents=["weather"])
    lead = Agent("lead", prompt="", model=ScriptedModel([]), sub_agents=[middle])
    said = r"agent 'middle': its sub-agent 'weather' is only a name: .*Agents\(\[…\]\), and take agents\['middle'\]"
    with pytest.raises(InvalidAgent, match=said):
        await lead.run("?")
    with pytest.raises(InvalidAgent, match=said):
        lead.as_workflow()


@pytest.mark.parametrize(
    ("build", "unused"),
    [
        (lambda: Agent("w", prompt="", tools=[look], approvals=["look", "send_*"]), ["send_*"]),
        (lambda: Agent("w", prompt="", tools=[look, McpServer.stdio("clock")], approvals=["send_*"]), []),
        (lambda: Agent("w", prompt="", sub_agents=["s"], approvals=["send_*"]), []),
        (lambda: Agent("w", prompt="", sub_agents=[LEAF], approvals=["message_agent"]), []),
        (
            lambda: Agent("w", prompt="", sub_agents=[Agent("s", prompt="", tools=[look])], approvals=["look", "x"]),
            ["x"],
        ),
    ],
    ids=["own tools", "unknown tools", "unknown agents", "messages", "tools below"],
)
def test_rules_that_no_tool_fits_are_logged(
    build: Callable[[], object], unused: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    build()
    assert [
        rule for record in caplog.records for rule in re.findall(r"the rule '(.*?)'", record.getMessage())
    ] == unused


def test_all_agents_below_are_reached_once() -> None:
    left, right = (Agent(name, prompt="", sub_agents=[LEAF]) for name in ("left", "right"))
    asked = Agent("asked", prompt="", tools=[look, Asking(LEAF)])
    root = Agent("root", prompt="", sub_agents=[left, right], tools=[Asking(asked)])
    assert [agent.name for agent in reachable(root)] == ["root", "left", "right", "asked", "leaf"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": ["small"]}, "models= is a mapping of names to models, and not a list"),
        ({"models": None}, "models= is a mapping of names to models, and not a NoneType"),
        ({"description": 5}, "description= is a text, and not a int"),
    ],
    ids=repr,
)
def test_what_is_no_text_or_no_mapping_is_refused(given: Any, said: str) -> None:
    with pytest.raises(InvalidAgent, match=said):
        Agent("clerk", prompt="P.", model=ScriptedModel(["x"]), **given)
