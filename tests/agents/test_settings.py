"""Settings of models: what they may be, whose count, and when a call is forced."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.agents._ways import Way, both_ways, loop_of, working
from tests.agents._weather import Query, Report, look, send

from stagepost.agents import (
    Agent,
    AgentError,
    Agents,
    AgentTool,
    InvalidAgent,
    InvalidAgentData,
    InvalidRequest,
    InvalidSettings,
    LLMTool,
    McpServer,
    ModelSettings,
    ScriptedModel,
    Tasks,
    ToolChoice,
    call,
)
from stagepost.agents._loop._settings import without_impossible_choice
from stagepost.checkpoint import MemoryStore, RunNotFound
from stagepost.workflows import Chain

COLD, HOT = ModelSettings(temperature=0), ModelSettings(temperature=2)
SCHEMAS = {name: replace(look.schema, name=name) for name in ("look", "return", "fail")}


def asked_with(model: ScriptedModel) -> list[ModelSettings]:
    return [request.settings for request in model.requests]


def given(**settings: Any) -> ModelSettings:
    return ModelSettings(**settings)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"temperature": 2.1}, "temperature=2.1.: give a number from 0 to 2, or leave it out"),
        ({"temperature": -0.1}, "number from 0 to 2"),
        ({"temperature": float("nan")}, "number from 0 to 2"),
        ({"temperature": "0.2"}, "number from 0 to 2"),
        ({"temperature": True}, "number from 0 to 2"),
        ({"max_tokens": 0}, "whole number of at least 1"),
        ({"max_tokens": 1.5}, "whole number of at least 1"),
        ({"max_tokens": "100"}, "whole number of at least 1"),
        ({"seed": "7"}, "give a whole number"),
        ({"seed": False}, "give a whole number"),
        ({"stop": "END"}, r"stop='END'.: give a list of texts, such as \[\"END\"\]"),
        ({"stop": ["END", 7]}, "list of texts"),
        ({"stop": [""]}, "list of texts"),
        ({"tool_choice": ""}, '"auto", "none", "required" or the name of a tool'),
        ({"tool_choice": True}, "or the name of a tool"),
        ({"parallel_tool_calls": 1}, "True or False"),
        ({"reasoning_effort": "hard"}, "one of none, minimal, low, medium, high, xhigh"),
        ({"reasoning_effort": ["low"]}, "one of none, minimal"),
        ({"cache": "yes"}, "True or False"),
        ({"timeout": 0}, "seconds, more than 0"),
        ({"timeout": float("inf")}, "seconds, more than 0"),
        ({"timeout": "60"}, "seconds, more than 0"),
        ({"extra": [("user", "ann")]}, "a mapping by names"),
        ({"extra": {1: "ann"}}, "a mapping by names"),
        ({"max_tokens": 10**400, "temperature": 10**400}, "number from 0 to 2"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_a_value_that_cannot_be_is_refused_when_it_is_given(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidSettings, match=why) as caught:
        ModelSettings(**settings)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, AgentError)
    assert caught.value.setting in settings


def test_all_that_can_be_is_taken() -> None:
    settings = ModelSettings(
        temperature=0,
        max_tokens=1,
        seed=-1,
        stop=("END",),
        tool_choice="look",
        parallel_tool_calls=False,
        reasoning_effort="none",
        cache=True,
        timeout=0.5,
        extra={"user": "ann"},
    )
    assert settings.over(HOT) == settings
    assert ModelSettings().over(settings) == settings
    assert given(stop=["a", "b"]).stop == ("a", "b"), "as JSON and TOML have it"


def test_settings_are_a_copy_of_what_they_were_given_and_do_not_show_it() -> None:
    extra = {"user": "ann"}
    settings = ModelSettings(extra=extra)
    extra["user"] = "bob"
    assert settings.extra == {"user": "ann"}
    assert "ann" not in repr(settings)


@both_ways
async def test_the_model_is_asked_with_the_agents_settings(way: Way) -> None:
    model = ScriptedModel([call("look", city="Oslo"), "done"])
    await way(Agent("weather", "", model=model, tools=[look], settings=COLD))
    assert asked_with(model) == [COLD, COLD]


async def test_those_of_a_run_are_stronger_and_hold_for_this_run_alone() -> None:
    model = ScriptedModel(["a", "b"])
    agent = Agent("weather", "", model=model, settings=ModelSettings(temperature=1, seed=7))
    await agent.run("?", settings=COLD)
    await agent.run("?")
    assert asked_with(model) == [ModelSettings(temperature=0, seed=7), agent.settings]


async def test_a_run_that_goes_on_has_settings_of_its_own() -> None:
    model = ScriptedModel(["a", "b"])
    agent = Agent("weather", "", model=model)
    await agent.run("?", after=await agent.run("?", settings=COLD))
    assert asked_with(model) == [COLD, ModelSettings()]


@pytest.mark.parametrize("kind", ["sub-agent", "tool", "prompt"])
async def test_agents_below_have_their_own_settings(kind: str) -> None:
    below = ScriptedModel(["fine"])
    asked = Agent("below", "", model=below, settings=HOT)
    tools: dict[str, Any] = {
        "sub-agent": {"sub_agents": [asked]},
        "tool": {"tools": [AgentTool(asked)]},
        "prompt": {"tools": [LLMTool("below", "Say {request}", model=below, settings=HOT)]},
    }
    message = {"agent_name": "below", "message": "?"}
    asks = call("message_agent", **message) if kind == "sub-agent" else call("below", request="?")
    above = ScriptedModel([asks, "done"])
    lead = Agent("lead", "", model=above, settings=ModelSettings(seed=7), **tools[kind])
    await lead.run("go", settings=COLD)
    assert asked_with(below) == [HOT]
    assert asked_with(above) == [ModelSettings(temperature=0, seed=7)] * 2


async def test_settings_of_a_task_are_stored_with_it() -> None:
    async with MemoryStore() as store:
        failing = ScriptedModel([OSError("down")])
        agent = Agent("weather", "", model=failing, settings=ModelSettings(seed=7))
        async with working(agent, store=store) as runner:
            run = await Tasks(runner).start(agent, "?", task_id="t", settings=ModelSettings(temperature=0, stop=("E",)))
            await run.settled()
        model = ScriptedModel(["a", "b"])
        later = Agent("weather", "", model=model, settings=ModelSettings(seed=8))
        async with working(later, store=store) as runner:
            await (await runner.resume("t")).result()
            await (await Tasks(runner).follow_up("t", "more")).result()
            await (await Tasks(runner).follow_up("t", "more", new_id="u", settings=HOT)).settled()
    assert asked_with(failing) == [ModelSettings(temperature=0, stop=("E",), seed=7)]
    assert asked_with(model) == [
        ModelSettings(temperature=0, stop=("E",), seed=8),
        ModelSettings(seed=8),
        ModelSettings(temperature=2, seed=8),
    ]


async def test_settings_of_a_task_may_hold_no_key() -> None:
    agent = Agent("weather", "", model=ScriptedModel([]))
    async with working(agent) as runner:
        tasks = Tasks(runner)
        for extra in ({"api_key": "k-123456789"}, {"extra_headers": {"Authorization": "Bearer k-123456789"}}):
            with pytest.raises(InvalidRequest, match="their extra= holds a key: give it to the model") as caught:
                await tasks.start(agent, "?", task_id="t", settings=ModelSettings(extra=extra))
            assert "k-123456789" not in str(caught.value)
        with pytest.raises(RunNotFound):
            await tasks.get("t")


def test_a_state_without_settings_is_not_one_byte_longer() -> None:
    assert set(loop_of(Agent("a", "", model=ScriptedModel([]), settings=COLD)).accept("?")) == {
        "messages",
        "calls",
        "spent",
    }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"settings": {"temperature": 0}}, "is not a ModelSettings: give ModelSettings"),
        ({"settings": None}, "settings=None is not a ModelSettings"),
        (
            {"settings": given(tool_choice="lok")},
            "tool_choice='lok' is not one of its tools: give one of auto, none,",
        ),
        ({"settings": given(tool_choice="return")}, "'return' is not one of its tools: .*required, look"),
        (
            {"settings": given(tool_choice="return"), "output": str},
            "'return' is not one of its tools: .*required, look",
        ),
        (
            {"settings": given(tool_choice="return"), "output": Report, "output_mode": "prompted"},
            "'return' is not one of its tools: .*required, look",
        ),
        ({"settings": given(tool_choice="message_agent")}, "'message_agent' is not one of its tools"),
    ],
    ids=["mapping", "nothing", "unknown", "no answer to return", "texts", "prompted", "no agents"],
)
async def test_settings_that_do_not_fit_the_agent_are_refused_when_they_are_given(
    options: dict[str, Any], why: str
) -> None:
    with pytest.raises(InvalidAgent, match=f"agent 'w': .*{why}"):
        Agent("w", "", tools=[look], **options)
    if options["settings"] is not None:
        settings = options["settings"]
        others = {name: option for name, option in options.items() if name != "settings"}
        agent: Agent[Any] = Agent("w", "", tools=[look], model=ScriptedModel([]), **others)
        with pytest.raises(InvalidRequest, match=f"agent 'w' .*{why}"):
            await agent.run("?", settings=settings)


@pytest.mark.parametrize(
    "options",
    [
        {"tools": [look], "settings": given(tool_choice="look")},
        {"output": Report, "settings": given(tool_choice="return")},
        {"sub_agents": ["s"], "settings": given(tool_choice="message_agent")},
        {"tools": [McpServer.stdio("clock")], "settings": given(tool_choice="now")},
    ],
    ids=["own", "answer", "agents", "of a server"],
)
def test_a_tool_that_there_is_or_may_be_can_be_chosen(options: dict[str, Any]) -> None:
    assert Agent("w", "", **options).settings.tool_choice


@pytest.mark.parametrize(
    ("choice", "tools", "is_first", "asked"),
    [
        ("auto", ["look"], False, "auto"),
        ("none", ["look"], False, "none"),
        ("look", ["look"], True, "look"),
        ("look", ["look"], False, None),
        ("look", ["return", "fail"], True, None),
        ("required", ["look"], True, "required"),
        ("required", ["look"], False, None),
        ("required", [], True, None),
        ("required", ["look", "return", "fail"], False, "required"),
    ],
    ids=[
        "auto",
        "none",
        "named",
        "named later",
        "named on the last turn",
        "any",
        "any later",
        "none there",
        "any with an answer to return",
    ],
)
def test_a_call_is_forced_while_the_model_can_still_answer(
    choice: ToolChoice,
    tools: list[str],
    is_first: bool,  # noqa: FBT001  # a table's column
    asked: str | None,
) -> None:
    settings = ModelSettings(tool_choice=choice, seed=7)
    found = without_impossible_choice(settings, [SCHEMAS[name] for name in tools], is_first=is_first)
    assert (found.tool_choice, found.seed) == (asked, 7)


@both_ways
async def test_a_forced_call_does_not_keep_the_model_from_answering(way: Way) -> None:
    model = ScriptedModel([call("look", city="Oslo"), "done"])
    await way(Agent("w", "", model=model, tools=[look, send], settings=ModelSettings(tool_choice="look")))
    assert [settings.tool_choice for settings in asked_with(model)] == ["look", None]


def test_settings_are_described_without_what_may_be_secret() -> None:
    extra = {"user": "ann", "api_key": "k-123456789", "extra_headers": {"x-key": "k-123456789"}}
    described = Agent("w", "", settings=ModelSettings(temperature=0, stop=("E",), extra=extra)).describe()
    assert described["settings"] == {"temperature": 0, "stop": ["E"], "extra": ["api_key", "extra_headers", "user"]}
    assert "k-123456789" not in json.dumps(described)


async def test_a_key_in_settings_is_masked_in_what_runs_keep() -> None:
    extra = {"api_key": "k-123456789", "extra_headers": {"authorization": "Bearer t-987654321"}, "user": "ordinary"}
    model = ScriptedModel(["k-123456789 (t-987654321), ordinary"])
    result = await Agent("w", "", model=model, settings=ModelSettings(extra=extra)).run("?")
    assert result.output == "*** (***), ordinary"


def test_settings_in_data() -> None:
    data = {"name": "w", "prompt": "", "settings": {"temperature": 0.5, "stop": ["E"], "extra": {"user": "ann"}}}
    agent = Agents.load({"agents": [data]})["w"]
    assert agent.settings == ModelSettings(temperature=0.5, stop=("E",), extra={"user": "ann"})


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"settings": {"temperture": 0.5}}, "settings.temperture"),
        ({"settings": {"temperature": 3}}, "give a number from 0 to 2"),
        ({"settings": {"stop": "E"}}, "settings.stop"),
        ({"budget": {"turn": 8}}, "budget.turn"),
        ({"budget": {"cost": -1}}, "give US dollars, more than 0"),
    ],
    ids=["mistyped", "too hot", "one text", "mistyped budget", "negative cost"],
)
def test_mistakes_in_data_are_told_with_their_place(data: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidAgentData, match=why):
        Agents.load({"agents": [{"name": "w", "prompt": "", **data}]})


async def test_an_agent_whose_work_is_a_part_of_another_workflow_has_its_settings() -> None:
    model = ScriptedModel(["fine"])
    loop = loop_of(Agent("w", "", model=model, settings=COLD))
    state = await Chain("around", [loop]).run(loop.accept("?"))
    assert (state["output"], asked_with(model)) == ("fine", [COLD])


def test_a_copy_of_an_agent_keeps_its_settings() -> None:
    agent = Agent("w", "", settings=COLD, input=Query)
    assert replace(agent, prompt="Weather.").settings == COLD
    assert replace(agent, settings=HOT).settings == HOT
