from collections.abc import Sequence

import pytest

from stagepost.agents import Agent, Agents, InvalidAgent, ScriptedModel, UnknownAgent


def agent(name: str, *sub_agents: Agent[object] | str) -> Agent[str]:
    return Agent(name, prompt="", sub_agents=sub_agents)


def test_names_become_the_agents_that_they_stand_for() -> None:
    weather, stock = agent("weather"), agent("stock", "clock")
    agents = Agents([agent("lead", "weather", "stock"), weather, stock, agent("clock")])
    assert list(agents) == ["lead", "weather", "stock", "clock"]
    assert len(agents) == 4
    assert agents["weather"] is weather
    assert agents["lead"].sub_agents == (weather, agents["stock"])
    assert agents["stock"].sub_agents == (agents["clock"],)
    assert stock.sub_agents == ("clock",)  # what was given does not change
    assert repr(agents) == "Agents(lead, weather, stock, clock)"


def test_names_inside_of_agents_are_found_too() -> None:
    weather = agent("weather")
    middle = agent("middle", "weather")
    agents = Agents([agent("lead", middle), agent("other", middle), weather])
    (resolved,) = agents["lead"].sub_agents
    assert isinstance(resolved, Agent)
    assert resolved.sub_agents == (weather,)
    assert agents["other"].sub_agents == (resolved,)


async def test_an_agent_that_knows_its_sub_agents_runs() -> None:
    lead = Agent("lead", prompt="", model=ScriptedModel(["hi"]), sub_agents=["weather"])
    assert (await Agents([lead, agent("weather")])["lead"].run("?")).output == "hi"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([agent("lead"), agent("lead")], "agent 'lead': two agents have this name"),
        ([agent("lead", "wether"), agent("weather")], "'lead': .*'wether' is none of these agents: lead, weather"),
        ([agent("lead", "weather"), agent("weather", "lead")], "in a circle: lead -> weather -> lead"),
        ([agent("a", "b"), agent("b", "c"), agent("c", "b")], "agent 'b': .* in a circle: b -> c -> b"),
        ([agent("lead", agent("middle", "lead"))], "in a circle: lead -> middle -> lead"),
    ],
    ids=["twice", "unknown", "circle", "circle below", "circle through an agent"],
)
def test_agents_that_do_not_fit_together_are_refused(given: Sequence[Agent[str]], why: str) -> None:
    with pytest.raises(InvalidAgent, match=why):
        Agents(given)


def test_an_agent_that_is_not_there_is_an_error_with_the_names_that_are() -> None:
    with pytest.raises(UnknownAgent, match="there is no agent 'wether'; there are: weather") as caught:
        Agents([agent("weather")])["wether"]
    assert (caught.value.agent, caught.value.known) == ("wether", ("weather",))
    assert Agents([]).get("lead") is None
