"""Tools that are answered from outside, and tools that come and go, under the rules of all providers."""

from typing import Final

from tests.agents._weather import look
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Entry, Says
from tests.agents.providers._scenes import LOOKED, everywhere, run, tasks_of

from stagepost.agents import Agent, Refuse, Tool, ToolsetContext, external_tool, tool, toolset

pytestmark = everywhere()
IN_TURNS: Final = True

QUOTE: Final = external_tool(
    "quote",
    "Asks a supplier.",
    parameters={"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
    returns=float,
)
HUNDREDS: Final = [tool(name=f"count_{number}", description="Counts.")(lambda: 0) for number in range(100)]


@tool
def ship_parcel(to: str) -> str:
    "Ships a parcel."
    return f"shipped to {to}"


async def test_external_calls_are_answered_one_by_one_beside_others(place: Place) -> None:
    calls = [Call("quote", {"item": "nails"}), Call("look", {"city": "Oslo"}), Call("quote", {"item": "glue"})]
    script: list[Entry] = [Says(calls=calls), Call("quote", {"item": "tape"}), "Bought."]
    agent = Agent("buyer", "You buy.", model=place.model(script), tools=[QUOTE, look])
    async with tasks_of(agent) as (tasks, _):
        task = await tasks.start(agent, "Buy.", task_id="t")
        for item, value in (("glue", Refuse("sold out")), ("nails", 3.5), ("tape", 2)):
            await task.settled()
            asked = {each.arguments["item"]: each.id for each in await tasks.questions()}
            await tasks.answer(asked[item], value)
        assert (await task.result())["output"] == "Bought."
    place.check()
    *first, last = place.session.asked[-1].results
    assert [text if "sold out" not in text else "sold out" for text in first] == ["3.5", LOOKED, "sold out"]
    assert last == "2.0"


async def test_tools_that_are_found_late_are_called_and_may_be_gone_later(place: Place) -> None:
    script: list[Entry] = [
        Call("search_tools", {"query": "parcel"}),
        Says(calls=[Call("ship_parcel", {"to": "ann"}), Call("count_7"), Call("ship_parcel", {"to": "bob"})]),
        "Shipped.",
    ]
    found = toolset([*HUNDREDS, ship_parcel]).searched()
    result = await run(Agent("sender", "You send.", model=place.model(script), tools=[found]), "Send.")
    assert result.output == "Shipped."
    place.check()
    names = [asked.tools for asked in place.session.asked]
    assert names == [["search_tools"], ["search_tools", "ship_parcel"], ["search_tools", "ship_parcel"]]
    _, *told = place.session.asked[-1].results
    assert ["shipped to ann" in told[0], "there is no tool 'count_7'" in told[1], "shipped to bob" in told[2]] == [
        True
    ] * 3
    later = place.at(place.provider)
    other = Agent("sender", "You send.", model=later.model(["Yes."]), tools=[look])
    assert (await run(other, "Sure?", after=result)).output == "Yes."
    later.check()


async def test_each_turn_may_have_other_tools_or_none(place: Place) -> None:
    @toolset
    def once(context: ToolsetContext) -> list[Tool[..., object]]:
        return [look] if context.turn == 1 else []

    agent = Agent(
        "weather", "You know the weather.", model=place.model([Call("look", {"city": "Oslo"}), "Fine."]), tools=[once]
    )
    assert (await run(agent)).output == "Fine."
    place.check()
    assert place.session.asked[0].tools == ["look"]
    assert place.session.asked[-1].results == [LOOKED]
