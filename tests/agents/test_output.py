"""Answers of any type, in each mode."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field, RootModel, field_validator
from pydantic_core import to_json
from tests.agents._ways import Way, both_ways
from tests.agents._weather import results
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from stagepost.agents import (
    Agent,
    AgentTool,
    AssistantMessage,
    Budget,
    BudgetExceeded,
    InvalidAgent,
    InvalidTool,
    McpServer,
    ModelRequest,
    ModelResponse,
    ProviderContent,
    ScriptedModel,
    ScriptEntry,
    ToolCall,
    UserMessage,
    call,
    tool,
)
from stagepost.agents._output._output import Complaint, Output, output_of
from stagepost.checkpoint import MemoryStore
from stagepost.hub import Hub
from stagepost.workflows import RunFailed, Runner

T = TypeVar("T")


class Report(BaseModel):
    """Weather of a city."""

    city: str
    degrees: int


class Page(BaseModel, Generic[T]):
    items: list[T]


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Words(RootModel[list[str]]):
    pass


class Spot(TypedDict):
    x: int


@dataclass
class Order:
    item: str
    notes: list[str] = field(default_factory=list)


class Node(BaseModel):
    name: str
    children: list["Node"] = []


class Odd(BaseModel):
    größe: int  # noqa: PLC2401  # the name is what is under test


class Picky(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def _check(cls, name: str) -> str:
        raise RuntimeError(f"no {name} today")


@tool(idempotent=True)
async def look(city: str) -> str:
    return f"{city} is fine"


OSLO = Report(city="Oslo", degrees=3)
WHOLE = '{"city": "Oslo", "degrees": 3}'

KINDS: dict[str, tuple[Any, Any, object]] = {
    "model": (Report, {"city": "Oslo", "degrees": 3}, OSLO),
    "list": (list[int], [1, 2], [1, 2]),
    "number": (int, 3, 3),
    "truth": (bool, True, True),
    "union": (Report | Order, {"item": "pen"}, Order("pen")),
    "union of list": (Report | list[int], [1], [1]),
    "optional": (Report | None, None, None),
    "dict": (dict[str, int], {"a": 1}, {"a": 1}),
    "dict with our word": (dict[str, int], {"value": 1}, {"value": 1}),
    "typed dict": (Spot, {"x": 1}, {"x": 1}),
    "dataclass": (Order, {"item": "pen"}, Order("pen")),
    "literal": (Literal["a", "b"], "a", "a"),
    "enum": (Mood, "good", Mood.GOOD),
    "annotated": (Annotated[int, Field(ge=1)], 3, 3),
    "generic": (Page[Report], {"items": [{"city": "Oslo", "degrees": 3}]}, Page(items=[OSLO])),
    "root model": (Words, ["a"], Words(["a"])),
    "recursive": (Node, {"name": "a", "children": [{"name": "b"}]}, Node(name="a", children=[Node(name="b")])),
    "odd name": (Odd, {"größe": 3}, Odd(größe=3)),
    "date": (date, "2026-11-22", date(2026, 11, 22)),
    "decimal": (Decimal, "1.50", Decimal("1.50")),
    "tuple": (tuple[int, str], [1, "a"], (1, "a")),
}


def returned(kind: Any, given: Any) -> ToolCall:
    output = output_of(kind)
    assert output is not None
    return call("return", **({"value": given} if output.is_wrapped else given))


@pytest.mark.parametrize(("kind", "given", "answer"), KINDS.values(), ids=KINDS)
async def test_an_answer_of_any_type_is_returned_by_a_call(kind: Any, given: Any, answer: object) -> None:
    agent: Agent[Any] = Agent("a", prompt="", model=ScriptedModel([returned(kind, given)]), output=kind)
    assert (await agent.run("?")).output == answer


@pytest.mark.parametrize(("kind", "given", "answer"), KINDS.values(), ids=KINDS)
async def test_an_answer_of_any_type_is_stored_and_read_back(kind: Any, given: Any, answer: object) -> None:
    agent: Agent[Any] = Agent("a", prompt="", model=ScriptedModel([returned(kind, given)]), output=kind)
    loop = agent.as_workflow()
    async with MemoryStore() as store, Runner(store, workflows=[loop]) as runner:
        run = await runner.start(loop, loop.accept("?"))
        assert (await run.result())["output"] == answer
        assert (await runner.runs.get(run.id)).state["output"] == answer


@pytest.mark.parametrize("mode", ["tool", "native", "prompted"])
@pytest.mark.parametrize(("kind", "given", "answer"), KINDS.values(), ids=KINDS)
async def test_an_answer_of_any_type_may_be_a_text(mode: Any, kind: Any, given: Any, answer: object) -> None:
    agent: Agent[Any] = Agent(
        "a", prompt="", model=ScriptedModel([to_json(given).decode()]), output=kind, output_mode=mode
    )
    assert (await agent.run("?")).output == answer


@both_ways
async def test_an_agent_that_is_a_tool_answers_with_json_of_its_type(way: Way) -> None:
    script = [returned(set[date], ["2026-11-22"])]
    below = Agent("below", prompt="", model=ScriptedModel(script), output=set[date])
    model = ScriptedModel([call("below", request="?"), "done"])
    result = await way(Agent("lead", prompt="", model=model, tools=[AgentTool(below)]))
    assert [message.text for message in results(result)] == ['["2026-11-22"]']


async def test_an_agent_on_the_hub_answers_with_its_type() -> None:
    agent = Agent("a", prompt="", model=ScriptedModel([call("return", value=[1, 2])]), output=list[int])
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(agent)
        assert await hub.request("a", "?", expect=list) == [1, 2]


def test_text_as_output_is_plain_text() -> None:
    assert output_of(str) is None
    assert output_of(None) is None


# what is sent


async def requested(**options: Any) -> ModelRequest:
    model = ScriptedModel([WHOLE])
    agent: Agent[Any] = Agent("a", prompt="Be brief.", model=model, output=Report, **options)
    await agent.run("?")
    return model.requests[0]


async def test_by_default_only_the_tools_say_what_to_answer_with() -> None:
    request = await requested(tools=[look])
    assert request.output is None
    assert [schema.name for schema in request.tools] == ["look", "return", "fail"]
    assert request.messages[0].text == "Be brief."
    assert request.tools[1].description == "Give your final answer. Weather of a city."
    assert request.tools[1].parameters == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
        "required": ["city", "degrees"],
    }


async def test_native_leaves_it_to_the_provider() -> None:
    request = await requested(output_mode="native")
    assert request.output is not None
    assert (request.output.name, request.output.schema["required"]) == ("Report", ["city", "degrees"])
    assert (request.tools, request.messages[0].text) == ((), "Be brief.")


async def test_prompted_says_it_in_the_prompt_and_leaves_the_tools_alone() -> None:
    model = ScriptedModel([call("look", city="Oslo"), f"```json\n{WHOLE}\n```"])
    agent = Agent("a", prompt="Be brief.", model=model, tools=[look], output=Report, output_mode="prompted")
    assert (await agent.run("?")).output == OSLO
    for request in model.requests:
        assert request.output is None
        assert [schema.name for schema in request.tools] == ["look"]
        assert request.messages[0].text.startswith("Be brief.\n\nGive your final answer as JSON")
        assert request.messages[0].text.count('"degrees":{"type":"integer"}') == 1


async def test_a_prompt_that_is_a_function_says_it_too() -> None:
    model = ScriptedModel([WHOLE])
    agent = Agent("a", prompt=lambda _: "Made.", model=model, output=Report, output_mode="prompted")
    await agent.run("?")
    assert model.requests[0].messages[0].text.startswith("Made.\n\nGive your final answer as JSON")


@pytest.mark.parametrize("kind", [Report, Node, list[Page[Report]], Report | Order], ids=str)
@pytest.mark.parametrize("mode", ["tool", "native", "prompted"])
async def test_the_schema_goes_out_once_a_turn(kind: Any, mode: Any) -> None:
    model = ScriptedModel(["", ""])
    agent: Agent[Any] = Agent("a", prompt="", model=model, output=kind, output_mode=mode, budget=Budget(turns=2))
    with pytest.raises(BudgetExceeded):
        await agent.run("?")
    output = output_of(kind)
    assert output is not None
    for request in model.requests:
        shown = [tool.parameters for tool in request.tools] + (
            [] if request.output is None else [request.output.schema]
        )
        sent = to_json(shown).decode() + "".join(message.text for message in request.messages)
        properties = to_json(output.schema["properties"]).decode()
        inner = to_json(output.schema["properties"].get("value")).decode()  # type: ignore[attr-defined]  # a mapping
        assert sent.count(inner if output.is_wrapped else properties) == 1


async def test_in_other_modes_the_ends_are_no_tools() -> None:
    model = ScriptedModel([call("return", city="Oslo", degrees=3), WHOLE])
    agent = Agent("a", prompt="", model=model, tools=[look], output=Report, output_mode="prompted")
    result = await agent.run("?")
    assert [message.text for message in results(result)] == ["there is no tool 'return'; there are: look"]
    assert result.output == OSLO


# what is refused where the agent is built


class Unfinished(BaseModel):
    report: "Nowhere"  # type: ignore[name-defined]  # noqa: F821  # that is it


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"output": Report, "output_mode": "json"}, "output_mode='json': give 'tool', 'native' or 'prompted'"),
        ({"output_mode": "native"}, "says how output= is told, and there is none"),
        ({"output": Report, "output_mode": "native", "tools": [look]}, "'native' is for agents without tools"),
        ({"output": Report, "output_mode": "native", "sub_agents": ["b"]}, "'native' is for agents without tools"),
        (
            {"output": Report, "output_mode": "native", "servers": [McpServer.stdio("clock")]},
            "'native' is for agents without tools",
        ),
        ({"output": object()}, "pydantic cannot check it"),
        ({"output": "Report"}, "is not a type: give a class"),
        ({"output": [Report, Order]}, r"give a class, or a type such as list\[int\] or A \| B"),
        ({"output": type(look)}, "pydantic cannot check it"),
        ({"output": lambda city: city}, "it is not a type: give a class"),
        ({"output": partial(int, base=2)}, "it is not a type: give a class"),
        ({"output": list["Nowhere"]}, "a type in it is not defined: define it before the agent"),  # type: ignore[name-defined]  # noqa: F821  # that is it
        ({"output": Unfinished}, "a type in it is not defined: define it before the agent"),
    ],
    ids=[
        *("mode", "no output", "tools", "agents", "servers", "object", "text", "list of types", "opaque"),
        *("function", "partial", "not defined", "not finished"),
    ],
)
def test_an_output_that_cannot_be_had_is_refused_where_the_agent_is_built(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidAgent, match=why):
        Agent("a", prompt="", **options)


def test_unions_in_another_order_are_another_output() -> None:
    class Metre(BaseModel):
        size: int

    class Mile(BaseModel):
        size: int

    for kind, first in ((Metre | Mile, Metre), (Mile | Metre, Mile)):
        output = output_of(kind)
        assert output is not None
        assert output.read_text('{"size": 3}') == first(size=3)


def test_an_input_that_cannot_be_sent_is_refused_where_the_tool_is_built() -> None:
    with pytest.raises(InvalidTool, match=r"input=.*Unsayable'> of agent 'a': JSON cannot say it"):
        AgentTool(Agent("a", prompt="", input=Unsayable))


class Unsayable(BaseModel):
    call: Callable[[], int]


# empty answers, and answers that are not complete


@both_ways
async def test_an_empty_answer_is_asked_for_again_and_costs_a_turn(way: Way) -> None:
    model = ScriptedModel(["", " \n", "30 °C"])
    result = await way(Agent("a", prompt="", model=model))
    assert (result.output, result.turns) == ("30 °C", 3)
    assert model.requests[1].messages[-1] == UserMessage(text="Your answer was empty. Answer again with a text.")


async def test_empty_answers_are_no_success_however_many_come() -> None:
    with pytest.raises(BudgetExceeded):
        await Agent("a", prompt="", model=ScriptedModel([""] * 3), budget=Budget(turns=3)).run("?")


@both_ways
@pytest.mark.parametrize(
    ("answer", "output", "why"),
    [
        ("", None, "Your answer was empty. Answer again with a text."),
        ('"hot"', int, "Your answer is not a valid int: Input should be a valid integer"),
    ],
    ids=["empty", "text"],
)
async def test_a_budget_used_up_by_answers_that_do_not_fit_says_what_was_wrong(
    way: Way, answer: ScriptEntry, output: Any, why: str
) -> None:
    with pytest.raises((BudgetExceeded, RunFailed), match=f"budget of 1 turn .*the model was last told: {why}"):
        await way(Agent("a", prompt="", model=ScriptedModel([answer]), output=output, budget=Budget(turns=1)))


async def test_a_budget_used_up_by_tools_says_nothing_of_the_last_result() -> None:
    model = ScriptedModel([call("look", city="Oslo")])
    with pytest.raises(BudgetExceeded, match=r"or ask for less$"):
        await Agent("a", prompt="", model=model, tools=[look], budget=Budget(turns=1)).run("?")


async def test_an_empty_answer_is_told_how_to_answer() -> None:
    model = ScriptedModel(["", call("return", city="Oslo", degrees=3)])
    await Agent("a", prompt="", model=model, output=Report).run("?")
    assert "call return with your final answer" in model.requests[1].messages[-1].text


@both_ways
async def test_an_answer_that_is_not_complete_is_kept_and_the_model_goes_on(way: Way) -> None:
    own = ProviderContent(provider="anthropic", model="claude", data=({"type": "server_tool_use"},))
    model = ScriptedModel([ModelResponse("Searching", is_final=False, provider=[own]), "30 °C"])
    result = await way(Agent("a", prompt="", model=model))
    assert (result.output, result.turns) == ("30 °C", 2)
    assert model.requests[1].messages[-1] == AssistantMessage(text="Searching", provider=(own,))


async def test_an_answer_that_is_not_complete_is_never_the_output() -> None:
    model = ScriptedModel([ModelResponse(WHOLE, is_final=False), ModelResponse("", is_final=False)])
    agent = Agent("a", prompt="", model=model, output=Report, output_mode="prompted", budget=Budget(turns=2))
    with pytest.raises(BudgetExceeded):
        await agent.run("?")


async def test_calls_of_an_answer_that_is_not_complete_are_made() -> None:
    made = ModelResponse("", [ToolCall(id="1", name="look", arguments='{"city": "Oslo"}')], is_final=False)
    result = await Agent("a", prompt="", model=ScriptedModel([made, "fine"]), tools=[look]).run("?")
    assert [message.text for message in results(result)] == ["Oslo is fine"]


@both_ways
async def test_thinking_and_what_belongs_to_the_provider_stay_with_the_answer(way: Way) -> None:
    own = ProviderContent(provider="anthropic", model="claude", data=({"signature": "x"},))
    made = ModelResponse(
        "", [ToolCall(id="1", name="look", arguments='{"city": "Oslo"}')], thinking="Hm.", provider=[own]
    )
    model = ScriptedModel([made, "fine"])
    await way(Agent("a", prompt="", model=model, tools=[look]))
    answer = model.requests[1].messages[2]
    assert isinstance(answer, AssistantMessage)
    assert (answer.thinking, answer.provider) == ("Hm.", (own,))


# reading


@pytest.mark.parametrize(
    "text",
    [WHOLE, f"```json\n{WHOLE}\n```", '\n```\n{"city": "Oslo",\n "degrees": 3}```\n'],
    ids=["bare", "fenced", "fenced without a language"],
)
def test_json_is_read_in_a_fence_or_without(text: str) -> None:
    assert Output.of(Report).read_text(text) == OSLO


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("it is 3 degrees", "Invalid JSON"),
        ("{", "Invalid JSON"),
        ('{"city": "Oslo", "degrees": "cold"}', "degrees: Input should be a valid integer"),
        ('{"degrees": 3}', "city: Field required"),
    ],
    ids=["prose", "cut", "wrong", "missing"],
)
def test_what_does_not_fit_is_answered_with_what_is_wrong(text: str, why: str) -> None:
    complaint = Output.of(Report).read_text(text)
    assert isinstance(complaint, Complaint)
    assert "not a valid Report" in complaint.text
    assert why in complaint.text


@pytest.mark.parametrize(
    ("kind", "text", "answer"),
    [
        (Literal["yes", "no"], "yes", "yes"),
        (Mood, " good\n", Mood.GOOD),
        (Report | str, "no idea", "no idea"),
        (date, "2026-11-22", date(2026, 11, 22)),
        (list[int], '{"value": [1]}', [1]),
        (dict[str, int], '{"value": {"a": 1}}', {"a": 1}),
        (dict[str, int], '{"value": 1}', {"value": 1}),
    ],
    ids=["literal", "enum", "text", "date", "wrapped", "wrapped dict", "own property"],
)
def test_a_text_is_read_as_its_writer_meant_it(kind: Any, text: str, answer: object) -> None:
    assert Output.of(kind).read_text(text) == answer


def test_json_that_is_cut_is_no_text() -> None:
    assert isinstance(Output.of(Report | str).read_text('{"city": "Os'), Complaint)


def test_arguments_that_do_not_fit_are_answered_with_what_is_wrong() -> None:
    complaint = Output.of(list[int]).read_arguments('{"value": [1, "x"]}')
    assert isinstance(complaint, Complaint)
    assert complaint.text.startswith(
        "the arguments are not a valid list[int]: value.1: Input should be a valid integer"
    )


def test_what_a_validator_raises_is_told() -> None:
    for found in (Output.of(Picky).read_text('{"name": "x"}'), Output.of(Picky).read_arguments('{"name": "x"}')):
        assert isinstance(found, Complaint)
        assert "no x today" in found.why


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Page[Report], "Page_Report"),
        (list[int], "list_int"),
        (Report | None, "Report_or_None"),
        (Annotated[int, Field(ge=1)], "int"),
        (Literal["ä"], "Literal"),
    ],
    ids=["generic", "list", "union", "annotated", "literal"],
)
def test_names_are_what_providers_take(kind: Any, name: str) -> None:
    assert Output.of(kind).to_show.name == name
