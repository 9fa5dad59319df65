import pytest
from tests.agents._weather import REPORT, Query, Report, look, results, send

from stagepost.agents import Agent, AgentTool, McpServer, ScriptedModel, ToolContext, call, tool
from stagepost.agents._delegation._delegate_tool import DelegateTool
from stagepost.agents._tools._arguments import InvalidArguments
from stagepost.agents._tools._invoking import invoke


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
    assert await invoke(made, made.parse('{"request": "Help!"}'), context) == ("done", False, ())


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
    assert await invoke(made, made.parse('{"request": "Help!"}'), context) == ("done", False, ())
    assert seen == ["the deps"]


async def test_its_own_model_counts_for_more_than_the_tools_and_that_for_more_than_the_callers() -> None:
    own, given, callers = ScriptedModel(["own"]), ScriptedModel(["given"]), ScriptedModel(["callers"])
    context = ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps=None, model=callers)
    answers = [
        (await invoke(made, made.parse('{"request": "?"}'), context)).text
        for made in (
            AgentTool(Agent("a", prompt="", model=own), model=given),
            AgentTool(Agent("a", prompt=""), model=given),
            AgentTool(Agent("a", prompt="")),
        )
    ]
    assert answers == ["own", "given", "callers"]


async def test_it_can_be_called_without_any_agent() -> None:
    made = AgentTool(Agent("helper", prompt="Help.", model=ScriptedModel(["done"])))
    context = ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps=None)
    assert await made(request="Help!", context=context) == "done"  # type: ignore[misc]  # of any tool only a call is known


@pytest.mark.parametrize(
    ("agent", "may"),
    [
        (Agent("a", prompt="", tools=[look]), True),
        (Agent("a", prompt="", tools=[look, send]), False),
        (Agent("a", prompt="", servers=[McpServer.stdio("clock")]), False),
        (Agent("a", prompt="", sub_agents=[Agent("b", prompt="", tools=[look])]), True),
        (Agent("a", prompt="", sub_agents=[Agent("b", prompt="", tools=[send])]), False),
        (Agent("a", prompt="", sub_agents=["b"]), False),
        (Agent("a", prompt="", tools=[AgentTool(Agent("b", prompt="", tools=[send]))]), False),
    ],
    ids=["repeatable", "with effects", "a server", "below", "effects below", "a name", "effects in a tool"],
)
def test_it_may_be_called_again_if_nothing_below_it_has_effects(agent: Agent[str], may: bool) -> None:  # noqa: FBT001  # a column
    made = AgentTool(agent)
    assert (made.idempotent, made.retries) == (may, None)


def test_its_description_is_the_agents_unless_another_is_given() -> None:
    agent = Agent("weather", prompt="", description="Knows the weather.")
    assert AgentTool(agent).description == "Knows the weather."
    assert AgentTool(agent, description="Ask it of the sky.").description == "Ask it of the sky."


def test_it_is_data_for_whoever_runs_the_calling_agent() -> None:
    agent = Agent("weather", prompt="", input=Query)
    made = AgentTool(agent, model="openai/gpt-5-mini")
    assert isinstance(made, DelegateTool)
    assert (made.agent, made.model, made.takes_context) == (agent, "openai/gpt-5-mini", True)
    assert made.request(made.parse('{"city": "Oslo"}')) == Query(city="Oslo")
    plain = AgentTool(Agent("helper", prompt=""))
    assert plain.request(plain.parse('{"request": "Help!"}')) == "Help!"


def test_the_calling_model_sees_the_fields_of_the_agents_input() -> None:
    parameters = AgentTool(Agent("a", prompt="", input=Query)).schema.parameters
    assert (parameters["type"], parameters["required"]) == ("object", ["city"])
    assert "days" in str(parameters["properties"])


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
