"""Answers of a type, and tools whose parameters are hard to say, at each provider."""

from collections.abc import Callable
from datetime import date
from typing import Any, Generic, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field, RootModel
from pydantic_core import to_json
from tests.agents._weather import look
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Asked, Call, Entry, Says
from tests.agents.providers._scenes import everywhere, run

from stagepost.agents import Agent, AgentGaveUp, Budget, tool

pytestmark = everywhere()
IN_TURNS = True  # how the parts of a stream are put together is seen in test_scenarios.py

ItemT = TypeVar("ItemT")
OSLO = Call("look", {"city": "Oslo"})


class City(BaseModel):
    name: str = Field(description="Its name.", min_length=1)
    degrees: float


class Trip(BaseModel):
    cities: list[City]
    best: City | None = None
    kind: Literal["sea", "land"] = "sea"
    notes: dict[str, int] = {}
    span: tuple[int, str] = (0, "")
    start: date | None = None


class Tree(BaseModel):
    name: str
    branches: list["Tree"] = []


class Page(BaseModel, Generic[ItemT]):
    items: list[ItemT]


class Numbers(RootModel[list[int]]):
    pass


class Place_(RootModel[City | Tree]):  # noqa: N801  # the name is part of what is tried
    pass


TRIP = {"cities": [{"name": "Oslo", "degrees": 3}], "notes": {"a": 1}, "span": [1, "b"], "start": "2026-11-22"}
TREE = {"name": "root", "branches": [{"name": "leaf", "branches": []}]}

each_type = pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param(City, {"name": "Oslo", "degrees": 3.5}, id="flat"),
        pytest.param(Trip, TRIP, id="nested"),
        pytest.param(Tree, TREE, id="recursive"),
        pytest.param(Page[City], {"items": [{"name": "Oslo", "degrees": 3}]}, id="generic"),
        pytest.param(Numbers, [1, 2], id="array"),
        pytest.param(Place_, TREE, id="union"),
    ],
)


def returned(value: object) -> Callable[[Asked], Call]:
    """A call of ``return`` with a value, which is wrapped if the root of its schema is made to fit."""

    def call(asked: Asked) -> Call:
        known = [*asked.schemas["return"].get("properties", {})]
        wrapped = len(known) == 1 and not (isinstance(value, dict) and known[0] in value)
        return Call("return", to_json({known[0]: value} if wrapped else value).decode())

    return call


def answering(place: Place, kind: Any, script: list[Entry], **options: Any) -> Agent[Any]:
    given = {"tools": [look], **options}
    return Agent("weather", "You know the weather.", model=place.model(script), output=kind, **given)


@each_type
async def test_an_output_is_returned_after_a_call(place: Place, kind: type[BaseModel], value: object) -> None:
    result = await run(answering(place, kind, [OSLO, returned(value)]))
    assert result.output == kind.model_validate(value)
    place.check()


async def test_an_output_is_said_as_text(place: Place) -> None:
    result = await run(answering(place, City, [OSLO, '{"name": "Oslo", "degrees": 3}']))
    assert result.output == City(name="Oslo", degrees=3)
    place.check()


async def test_an_output_of_an_agent_without_tools(place: Place) -> None:
    result = await run(answering(place, City, [returned({"name": "Oslo", "degrees": 3})], tools=[]))
    assert result.output == City(name="Oslo", degrees=3)
    place.check()


async def test_an_output_that_does_not_fit_is_repaired(place: Place) -> None:
    script: list[Entry] = [
        returned({"name": "Oslo", "degrees": "cold"}),
        "It is cold.",
        Call("return", '{"name": "Os'),
        returned({"name": "Oslo", "degrees": 3}),
    ]
    result = await run(answering(place, City, script))
    assert result.output == City(name="Oslo", degrees=3)
    place.check()


async def test_an_output_beside_another_call(place: Place) -> None:
    def both(asked: Asked) -> list[Call]:
        return [OSLO, returned({"name": "Oslo", "degrees": 3})(asked)]

    agent = answering(place, City, [both, returned({"name": "Rome", "degrees": 9})])
    result = await run(agent)
    if place.session.unsaid:
        result = await run(agent, "And Rome?", after=result)
    assert result.output.name == "Rome"
    place.check()


async def test_an_output_on_the_last_turn(place: Place) -> None:
    script: list[Entry] = [OSLO, returned({"name": "Oslo", "degrees": 3})]
    result = await run(answering(place, City, script, budget=Budget(turns=2)))
    assert result.output == City(name="Oslo", degrees=3)
    place.check()


async def test_an_agent_gives_up(place: Place) -> None:
    with pytest.raises(AgentGaveUp, match="no station"):
        await run(answering(place, City, [OSLO, Call("fail", {"reason": "no station"})]))
    place.check()


async def test_a_follow_up_after_an_output(place: Place) -> None:
    agent = answering(place, City, [OSLO, *[returned({"name": name, "degrees": 3}) for name in ("Oslo", "Rome")]])
    result = await run(agent)
    result = await run(agent, "And Rome?", after=result)
    assert result.output == City(name="Rome", degrees=3)
    assert place.session.asked[-1].texts[-1] == "And Rome?"
    place.check()


@pytest.mark.parametrize(
    "empty",
    [Says(""), Says("  \n"), Says("", stop="calls"), Says("", stop="pause")],
    ids=["empty", "blank", "calls_without_calls", "paused"],
)
async def test_an_empty_answer_is_asked_again(place: Place, empty: Says) -> None:
    result = await run(answering(place, City, [OSLO, empty, returned({"name": "Oslo", "degrees": 3})]))
    assert result.output == City(name="Oslo", degrees=3)
    place.check()


@pytest.mark.parametrize("empty", [Says(""), Says("", stop="calls")], ids=["empty", "calls_without_calls"])
async def test_an_empty_text_is_asked_again(place: Place, empty: Says) -> None:
    agent = Agent("weather", "You know the weather.", model=place.model([OSLO, empty, "3 degrees."]), tools=[look])
    assert (await run(agent)).output == "3 degrees."
    place.check()


async def test_a_tool_whose_parameters_are_hard_to_say(place: Place) -> None:
    @tool(idempotent=True)
    async def plan(  # noqa: PLR0917  # a model writes them by name
        trip: Trip,
        tree: Tree,
        where: City | Tree,
        span: tuple[int, str],
        table: dict[str, list[int]],
        page: Page[int],
        raw: Any = None,
        kind: Literal["a", "b"] | None = None,
    ) -> str:
        "Plan a trip."
        return f"{trip.cities[0].name} {tree.branches[0].name} {span[0]} {table['x']} {page.items}"

    given = {"trip": TRIP, "tree": TREE, "where": TREE, "span": [1, "b"], "table": {"x": [1]}, "page": {"items": [1]}}
    agent = Agent("planner", "Plan.", model=place.model([Call("plan", given), "Done."]), tools=[plan])
    assert (await run(agent)).output == "Done."
    assert place.session.asked[-1].results == ["Oslo leaf 1 [1] [1]"]
    place.check()


async def test_a_sub_agent_with_types(place: Place) -> None:
    script = {
        "You lead.": [
            Call("message_agent", {"agent_name": "reader", "message": '{"name": "Oslo", "degrees": 3}'}),
            "All is known.",
        ],
        "You read.": [OSLO, returned(TREE)],
    }
    reader = Agent("reader", "You read.", tools=[look], description="Reads.", input=City, output=Tree)
    model = place.model(script)  # type: ignore[arg-type]  # a dict is invariant
    assert (await run(Agent("lead", "You lead.", model=model, sub_agents=[reader]))).output == "All is known."
    place.check()
    assert "leaf" in place.session.asked[-1].results[0]
