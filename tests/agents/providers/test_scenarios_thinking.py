"""Thinking that has to come back to the provider that made it, and to no other."""

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import to_json
from tests.agents._weather import look
from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Entry, Says, Thought
from tests.agents.providers._scenes import LOOKED, everywhere, run

from stagepost.agents import Agent, Budget

THINKING = [each for each in PROVIDERS if each.thinking is not None]

pytestmark = everywhere(THINKING)

OSLO, ROME = Call("look", {"city": "Oslo"}), Call("look", {"city": "Rome"})


class City(BaseModel):
    name: str


def thoughtful(place: Place, script: list[Entry], **options: Any) -> Agent[Any]:
    given = {"tools": [look], **options}
    return Agent("weather", "You know the weather.", model=place.model(script, thinking=True), **given)


def check_kept(place: Place, *thoughts: str) -> None:
    """See that all thoughts have come back, if the provider takes them at all."""
    place.check()
    if "thinking" in place.provider.takes:
        assert place.session.asked[-1].thoughts == list(thoughts)


async def test_thinking_before_a_text(place: Place) -> None:
    result = await run(thoughtful(place, [Says("Fine.", thinking=[Thought("Is it fine?")])]))
    assert result.output == "Fine."
    assert "Is it fine?" not in "".join(message.text for message in result.messages)
    place.check()


async def test_thinking_is_kept_over_tool_turns(place: Place) -> None:
    script: list[Entry] = [
        Says(thinking=[Thought("First Oslo.")], calls=[OSLO]),
        Says("Now Rome.", thinking=[Thought("Then Rome.")], calls=[ROME, OSLO]),
        Says("Fine.", thinking=[Thought("That is all.")]),
    ]
    result = await run(thoughtful(place, script))
    assert result.output == "Fine."
    assert place.session.asked[-1].results == [LOOKED, LOOKED.replace("Oslo", "Rome"), LOOKED]
    check_kept(place, "First Oslo.", "Then Rome.")


async def test_several_thoughts_of_one_answer_keep_their_order(place: Place) -> None:
    thoughts = [Thought("One."), Thought("Two."), Thought("Three, ä “quoted” 🌊\nin two lines.")]
    result = await run(thoughtful(place, [Says(thinking=thoughts, calls=[OSLO]), "Fine."]))
    assert result.output == "Fine."
    place.check()
    if "thinking" in place.provider.takes:
        assert "".join(place.session.asked[-1].thoughts) == "".join(thought.text for thought in thoughts)


async def test_redacted_thinking_is_kept(place: Place) -> None:
    thoughts = [Thought("Open."), Thought("Closed.", redacted=True)]
    result = await run(thoughtful(place, [Says(thinking=thoughts, calls=[OSLO]), "Fine."]))
    assert result.output == "Fine."
    place.check()


async def test_an_answer_without_thinking_between_others(place: Place) -> None:
    script: list[Entry] = [Says(thinking=[Thought("First Oslo.")], calls=[OSLO]), ROME, Says("Fine.")]
    assert (await run(thoughtful(place, script))).output == "Fine."
    place.check()


async def test_a_follow_up_after_thinking(place: Place) -> None:
    script: list[Entry] = [
        Says(thinking=[Thought("First Oslo.")], calls=[OSLO]),
        Says("Fine.", thinking=[Thought("That is all.")]),
        Says(thinking=[Thought("Then Rome.")], calls=[ROME]),
        "Fine, too.",
    ]
    agent = thoughtful(place, script)
    result = await run(agent, "And Rome?", after=await run(agent))
    assert result.output == "Fine, too."
    place.check()
    if "thinking" in place.provider.takes:
        assert "Then Rome." in place.session.asked[-1].thoughts


async def test_the_last_turn_of_one_that_thinks(place: Place) -> None:
    script: list[Entry] = [Says(thinking=[Thought("First Oslo.")], calls=[OSLO]), "Fine."]
    assert (await run(thoughtful(place, script, budget=Budget(turns=2)))).output == "Fine."
    check_kept(place, "First Oslo.")


@pytest.mark.parametrize("turns", [5, 2], ids=["in_time", "on_the_last_turn"])
async def test_an_output_of_one_that_thinks(place: Place, turns: int) -> None:
    script: list[Entry] = [
        Says(thinking=[Thought("First Oslo.")], calls=[OSLO]),
        Says(thinking=[Thought("I know.")], calls=[Call("return", {"name": "Oslo"})]),
    ]
    result = await run(thoughtful(place, script, output=City, budget=Budget(turns=turns)))
    assert result.output == City(name="Oslo")
    check_kept(place, "First Oslo.")


async def test_an_answer_that_is_repaired_by_one_that_thinks(place: Place) -> None:
    script: list[Entry] = [
        Says(thinking=[Thought("A guess.")], calls=[Call("return", {"town": "Oslo"})]),
        Says("Oslo.", thinking=[Thought("In words.")]),
        Says(thinking=[Thought("By its name.")], calls=[Call("return", {"name": "Oslo"})]),
    ]
    assert (await run(thoughtful(place, script, output=City))).output == City(name="Oslo")
    place.check()


@pytest.mark.parametrize("target", PROVIDERS, ids=[each.name.upper().replace("-", "_") for each in PROVIDERS])
async def test_a_transcript_goes_on_at_another_provider(place: Place, target: Any) -> None:
    script: list[Entry] = [
        Says("I look.", thinking=[Thought("A secret thought.")], calls=[OSLO, ROME]),
        Says("Fine.", thinking=[Thought("Another one.")]),
    ]
    result = await run(thoughtful(place, script))
    place.check()
    there = place.at(target)
    for thinking in (False, True):
        if thinking and target.thinking is None:
            continue
        model = there.model([OSLO, "Fine there, too."], thinking=thinking)
        again = await run(Agent("other", "You know it, too.", model=model, tools=[look]), "And now?", after=result)
        assert again.output == "Fine there, too."
        if target is not place.provider:
            sent = to_json([request.body for request in there.session.requests]).decode()
            assert "A secret thought." not in sent
    there.check()
