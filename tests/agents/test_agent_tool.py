import pytest
from tests.agents._weather import REPORT, Query, Report, look, results, send

from stagepost.agents import Agent, AgentTool, ScriptedModel, ToolContext, call, tool
from stagepost.agents._arguments import InvalidArguments
from stagepost.agents._invoking import invoke


async def test_an_agent_is_a_tool_that_takes_what_it_takes_and_gives_what_it_gives() -> None:
    model = ScriptedModel([call("look", city="Oslo"), REPORT])
    weather = Agent("weather", prompt="Weather of {city}.", model=model, tools=[look], input=Query, output=Report)
    lead = Agent(
        "lead",
        prompt="Plan.",
        model=ScriptedModel([call("weather", city="Oslo"), "take a coat"]),
        tools=[AgentTool(weather, description="Knows the weather.")],
    )
    result = await lead.run("What to wear?")
    assert result.output == "take a coat"
    assert [told.text for told in results(result)] == ['{"city":"Oslo","degrees":3}']


async def test_an_agent_that_takes_a_text_is_asked_with_one() -> None:
    helper = Agent("helper", prompt="Help.", model=ScriptedModel(["done"]))
    made = AgentTool(helper, description="Helps.", name="ask-helper", timeout=5, needs_approval=True)
    assert (made.name, made.timeout, made.needs_approval) == ("ask-helper", 5, True)
    assert "request" in str(made.schema.parameters["properties"])
    context = ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps=None)
    assert await invoke(made, made.parse('{"request": "Help!"}'), context) == ("done", False)


async def test_an_agent_without_a_model_has_that_of_its_caller_and_the_same_deps() -> None:
    seen: list[object] = []

    @tool
    def note(context: ToolContext) -> str:
        seen.append(context.deps)
        return "noted"

    helper = Agent("helper", prompt="Help.", tools=[note])
    made = AgentTool(helper, description="Helps.")
    model = ScriptedModel([call("note"), "done"])
    context = ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps="the deps", model=model)
    assert await invoke(made, made.parse('{"request": "Help!"}'), context) == ("done", False)
    assert seen == ["the deps"]


def test_it_may_be_called_again_if_all_its_tools_may() -> None:
    assert AgentTool(Agent("a", prompt="", tools=[look]), description="").idempotent
    assert not AgentTool(Agent("a", prompt="", tools=[look, send]), description="").idempotent


def test_a_request_that_does_not_fit_is_refused() -> None:
    made = AgentTool(Agent("a", prompt="", input=Query), description="")
    with pytest.raises(InvalidArguments, match="city: Field required"):
        made.parse("{}")
    assert made.takes_context


async def test_what_fails_in_the_agent_is_told_to_the_caller() -> None:
    helper = Agent("helper", prompt="Help.", model=ScriptedModel([OSError("no network"), "never"]))
    made = AgentTool(helper, description="Helps.")
    context = ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps=None)
    told = await invoke(made, made.parse('{"request": "Help!"}'), context)
    assert told.is_error
    assert "no network" in told.text
