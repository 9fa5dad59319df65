"""Agents as data, and back: nothing is lost, and what has no name is refused."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law
from tests.agents._weather import Query, Report, look, send

from stagepost.agents import (
    Agent,
    Agents,
    AgentTool,
    Approvals,
    Budget,
    ClearResults,
    ContextPolicy,
    InvalidAgentData,
    KeepLast,
    LLMTool,
    McpServer,
    ModelSettings,
    NamesMissing,
    PromptContext,
    ScriptedModel,
    handoff,
    tool,
)
from stagepost.programs import Limits, ProgramPrompt, PromptFacts, PtcLisp, Validation

MODEL, OTHER = ScriptedModel(["a"]), ScriptedModel(["b"])
CLOCK = McpServer.stdio("clock")
JUDGE = LLMTool("judge", "Judge {text}.")
POET = AgentTool(Agent("poet", "Write.", description="Writes.", model=OTHER))
GIVE = handoff("other", description="Gives.", limit=3)
KEEP, CLEAR = KeepLast(turns=4), ClearResults()


def plain(text: str) -> str:
    """A function that is no tool yet."""
    return text


async def prompting(context: PromptContext[Any]) -> str:
    """A prompt."""
    return str(context)


def wording(facts: PromptFacts) -> str:
    """A part of the prompt of programs."""
    return str(facts)


def whole(text: str) -> str:
    """A whole prompt of programs."""
    return text


class Noting:
    """A hook."""

    async def tool_call(self, call: Any, context: Any, proceed: Any) -> Any:  # noqa: ARG002 - as of all hooks
        """Nothing."""
        return await proceed(call)


class Words(PtcLisp):
    """Another language."""


HOOK, WORDS = Noting(), Words()
NAMES: dict[str, Any] = {
    "tools": {"look": look, "send": send, "plain": plain, "clock": CLOCK, "judge": JUDGE, "poet": POET, "give": GIVE},
    "models": {"fast": MODEL, "big": OTHER, "far": "openai/gpt-5-mini"},
    "types": {"Query": Query, "Report": Report, "numbers": list[int]},
    "parts": {"prompting": prompting, "hook": HOOK, "keep": KEEP, "clear": CLEAR, "wording": wording, "whole": whole,
              "words": WORDS},
}  # fmt: skip

AGENTS: dict[str, Agent[Any]] = {
    "nothing but a prompt": Agent("a", ""),
    "everything": Agent(
        "a", "About {city}.", description="It knows.", model=MODEL, tools=[look, plain, CLOCK, JUDGE, POET],
        input=Query, output=Report, budget=Budget(turns=None, tool_calls=0, tokens=5, cost=0.5),
        approvals=Approvals(["send*", "!look"], within=None), hooks=[HOOK], idle=math.inf,
        settings=ModelSettings(temperature=0.0, stop=("END",), extra={"user": "ann"}),
        context=ContextPolicy(limit=9, result_limit=None, compact=[KEEP, CLEAR]),
    ),
    "a usual policy": Agent("a", "", context=ContextPolicy()),
    "a prompt function": Agent("a", prompting),
    "a model by name": Agent("a", "", model="fast", models={"fast": MODEL}),
    "a model of a provider": Agent("a", "", model="openai/gpt-5"),
    "another mode": Agent("a", "", output=list[int], output_mode="prompted", idle=0),
    "programs": Agent("a", "", programs=PtcLisp()),
    "programs of their own kind": Agent(
        "a", "", budget=Budget(retry_turns=2),
        programs=PtcLisp(
            limits=Limits(seconds=None, calls=3), memory="rollback", validation=Validation.STRICT, journal=True,
            plan=("one", ("two", "Do it.")), float_precision=None, prompt_limit=9,
            prompt=ProgramPrompt(prefix="Be quick.", language_spec=wording, thinks=True),
        ),
    ),
    "programs with a function": Agent("a", "", programs=PtcLisp(prompt=whole)),
    "programs with a text": Agent("a", "", programs=PtcLisp(prompt="Write.")),
    "another language": Agent("a", "", programs=WORDS),
    "an agent below": Agent("a", "", sub_agents=[Agent("b", "Help.", sub_agents=[Agent("c", "", tools=[send])])]),
}  # fmt: skip


def again(agents: Agents) -> Agents:
    """The same, as another process would load them."""
    return Agents.load(json.loads(json.dumps(agents.dump(**NAMES))), **NAMES)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_an_agent_is_what_it_was(agent: Agent[Any]) -> None:
    loaded = again(Agents([agent]))["a"]
    assert loaded == agent
    assert hash(loaded) == hash(agent)
    assert again(Agents([loaded]))["a"] == agent


def test_agents_that_know_each_other_are_what_they_were() -> None:
    lead = Agent("lead", "Lead.", sub_agents=["other", "third"], tools=[GIVE])
    agents = Agents([lead, Agent("third", "", sub_agents=["other"]), Agent("other", "", tools=[handoff("lead")])])
    names = {**NAMES, "tools": {**NAMES["tools"], "back": handoff("lead")}}
    data = agents.dump(**names)
    assert Agents.load(data, **names) == agents
    assert data["agents"][0] == {  # type: ignore[index]  # JSON is not so narrow
        "name": "lead", "prompt": "Lead.", "sub_agents": ["other", "third"], "tools": ["give"],
    }  # fmt: skip


def test_agents_differ_in_each_part() -> None:
    seen: list[Agent[Any]] = []
    for agent in AGENTS.values():
        assert agent not in seen
        seen.append(agent)
    assert Agent("a", "", model=MODEL) != Agent("a", "", model=OTHER)
    assert Agent("a", "", tools=[look]) != Agent("a", "", tools=[look, send])
    assert Agent("a", "", tools=[look]) != Agent("a", "", tools=[tool(name=look.name)(plain)])
    assert Agent("a", "", tools=[plain]) == Agent("a", "", tools=[plain])
    assert Agent("a", "") != "a"


def test_what_has_no_name_is_refused_and_all_of_it_is_told() -> None:
    agent = Agent(
        "a", prompting, model=MODEL, tools=[look, CLOCK], input=Query, output=Report, hooks=[HOOK],
        context=ContextPolicy(compact=[KEEP]), settings=ModelSettings(extra={"api_key": "sk-4711"}),
        programs=WORDS, sub_agents=[Agent("b", "", tools=[send], programs=PtcLisp(prompt=whole))],
    )  # fmt: skip
    with pytest.raises(NamesMissing) as raised:
        Agents([agent]).dump()
    told = [
        "prompt 'prompting'", "model 'ScriptedModel'", "tool 'look'", "toolset or server 'clock'", "tool 'send'",
        "prompt of programs 'whole'", "input type Query", "output type Report", "language 'Words'", "hook 'Noting'",
        "a key in its settings", "compaction 'KeepLast'",
    ]  # fmt: skip
    assert len(raised.value.missing) == len(told)
    for what in told:
        assert what in str(raised.value)
    assert "4711" not in str(raised.value)


def test_a_name_that_means_another_model_is_none() -> None:
    agents = Agents([Agent("a", "", model="fast", models={"fast": OTHER})])
    assert again(agents) == agents
    with pytest.raises(NamesMissing, match="model 'fast' of agent 'a'"):
        agents.dump(models={"fast": MODEL})


UNKNOWN = [
    ({"hooks": ["hok", "hok2"], "tools": ["lok"]}, ["there is no part 'hok'", "there is no part 'hok2'", "tool 'lok'"]),
    ({"prompt": {"part": "x"}}, ["there is no part 'x'; there are: prompting"]),
    ({"prompt": {"x": "x"}}, ["Input should be a valid string"]),
    ({"context": {"compact": ["x"]}}, ["there is no part 'x'"]),
    ({"programs": "x"}, ["there is no part 'x'"]),
    ({"programs": {"prompt": {"part": "x"}}}, ["there is no part 'x'"]),
    ({"programs": {"language": "Lua"}}, ["'PTC-Lisp'"]),
    ({"programs": {"limits": {"second": 1}}}, ["there is no limit 'second'; there are: seconds"]),
    ({"programs": {"validation": "x"}}, ["'x' is not a valid Validation"]),
    ({"sub_agents": [{"name": "b", "prompt": "", "tools": ["x"]}]}, ["there is no tool 'x'"]),
]


@pytest.mark.parametrize(("changes", "told"), UNKNOWN)
def test_unknown_names_are_refused_and_all_of_them_are_told(changes: dict[str, Any], told: Sequence[str]) -> None:
    with pytest.raises(InvalidAgentData) as raised:
        Agents.load({"agents": [{"name": "a", "prompt": "", **changes}]}, **NAMES)
    for what in told:
        assert what in str(raised.value)


@law(20, 500)
@given(
    st.builds(
        Budget, turns=st.none() | st.integers(1, 99), tool_calls=st.none() | st.integers(0, 9),
        cost=st.none() | st.floats(0.01, 5),
    ),
    st.lists(st.sampled_from([look, plain, CLOCK, JUDGE, POET]), unique=True),
    st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"])),
    st.none() | st.floats(0, 1e6),
)  # fmt: skip
def test_all_agents_are_what_they_were(budget: Budget, tools: list[Any], text: str, idle: float | None) -> None:
    agents = Agents([Agent("a", text, description=text, budget=budget, tools=tools, idle=idle)])
    assert again(agents) == agents
