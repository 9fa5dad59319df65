"""Conversations that are handed over, at each provider: from agent to agent, beside other calls, filtered, and back."""

from pathlib import Path
from typing import Any, Final

import pytest
from tests.agents._weather import look
from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Says, Thought
from tests.agents.providers._scenes import LOOKED, everywhere, run, tasks_of
from tests.agents.providers._server import Script

from stagepost.agents import Agent, converse, handoff
from stagepost.checkpoint import SqliteStore

pytestmark = everywhere()
IN_TURNS = True  # how the parts of a stream are put together is seen in test_scenarios.py

OSLO: Final = Call("look", {"city": "Oslo"})
OVER: Final = Call("transfer_to_poet", {"reason": "She wants rhymes."})
BACK: Final = Call("transfer_to_planner", {})


def agents(place: Place, script: Script, *, thinking: bool = False, again: bool = False, **options: Any) -> Agent[Any]:
    """Two agents that hand over to each other; the second asks the model of the first."""
    model = place.again(thinking=thinking) if again else place.model(script, thinking=thinking)
    poet = Agent("poet", "You rhyme.", tools=[handoff("planner")])
    return Agent("planner", "You plan.", model=model, tools=[look, handoff(poet, **options)])


async def test_another_agent_goes_on_beside_other_calls_and_hands_back(place: Place) -> None:
    script: Script = {
        "You plan.": [Says("One moment.", [OSLO, OVER, OSLO]), "All is said."],
        "You rhyme.": [BACK],
    }
    result = await run(agents(place, script))
    assert (result.output, result.agent) == ("All is said.", "planner")
    assert place.session.asked[-1].results[:3] == [LOOKED, "poet has the conversation now", LOOKED]
    place.check()


async def test_an_agent_without_tools_takes_over(place: Place) -> None:
    script: Script = {"You plan.": [OSLO, OVER], "You rhyme.": ["Cold and bold."]}
    poet = Agent("poet", "You rhyme.")
    planner = Agent("planner", "You plan.", model=place.model(script), tools=[look, handoff(poet)])
    result = await run(planner)
    assert (result.output, result.agent) == ("Cold and bold.", "poet")
    place.check()


def of_the_user(messages: Any) -> Any:
    return [message for message in messages if message.role == "user"]


def the_end(messages: Any) -> Any:
    return messages[-3:]


@pytest.mark.parametrize("filtering", [of_the_user, the_end], ids=["of_the_user", "the_end"])
async def test_what_a_filter_leaves_is_taken(place: Place, filtering: Any) -> None:
    script: Script = {"You plan.": [[OSLO, OSLO], [OVER, OSLO]], "You rhyme.": ["Cold and bold."]}
    assert (await run(agents(place, script, filter=filtering))).output == "Cold and bold."
    place.check()


def without_results(messages: Any) -> Any:
    return [message for message in messages if message.role != "tool"]


async def test_a_filter_may_leave_an_answer_at_the_end(place: Place) -> None:
    script: Script = {
        "You plan.": [Says("One moment.", [OVER]), OVER],
        "You rhyme.": [BACK, "Cold and bold."],
    }
    assert (await run(agents(place, script, filter=without_results))).output == "Cold and bold."
    place.check()


async def test_a_conversation_goes_on_with_the_other_agent_after_a_restart(place: Place, tmp_path: Path) -> None:
    script: Script = {"You plan.": [OVER, "Bye."], "You rhyme.": ["Cold and bold.", "Sun and fun.", BACK]}
    planner = agents(place, script)
    for asked, answer in (("Oslo?", "Cold and bold."), ("Rome?", "Sun and fun."), ("Thanks.", "Bye.")):
        async with (
            tasks_of(planner, SqliteStore(tmp_path / "runs")) as (_, runner),
            converse(runner, planner, id="c") as talk,
        ):
            assert (await talk.send(asked)).output == answer
        planner = agents(place, script, again=True)
    place.check()


async def test_thinking_goes_with_the_conversation_at_one_provider_only(place: Place) -> None:
    if place.provider.thinking is None:
        pytest.skip("the provider has no model that shows its thinking")
    script: Script = {
        "You plan.": [Says(thinking=[Thought("A poem.")], calls=[OVER])],
        "You rhyme.": [Says("Cold and bold.", thinking=[Thought("What rhymes?")])],
    }
    assert (await run(agents(place, script, thinking=True))).output == "Cold and bold."
    place.check()
    other = place.at(next(each for each in PROVIDERS if each.thinking and each.name != place.provider.name))
    first: Script = {"You plan.": [Says(thinking=[Thought("A poem.")], calls=[OVER])]}
    then: Script = {"You rhyme.": [Says("Cold and bold.", thinking=[Thought("What rhymes?")])]}
    poet = Agent("poet", "You rhyme.", model=other.model(then, thinking=True))
    planner = Agent("planner", "You plan.", model=place.model(first, thinking=True), tools=[handoff(poet)])
    assert (await run(planner)).output == "Cold and bold."
    assert not other.session.asked[-1].thoughts
    other.check()
    place.check()
