"""The loop at each provider, whole and streamed, through the real litellm: texts, calls, results, repair."""

from typing import Any

import pytest
from tests.agents._weather import look, results
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Says, Used
from tests.agents.providers._scenes import LOOKED, everywhere, run
from tests.agents.providers._server import Script

from stagepost.agents import Agent, Allow, AnswerTooLong, Budget, ContentRefused, Deny, ToolCall, tool

pytestmark = everywhere()

OSLO = Call("look", {"city": "Oslo"})


@tool(idempotent=True)
async def break_off(city: str) -> str:
    "Fails."
    raise RuntimeError(f"no wind in {city}")


@tool(idempotent=True)
async def now() -> str:
    "What time it is."
    return ""


@tool(needs_approval=True)
async def mail(to: str) -> str:
    "Send a mail."
    return f"sent to {to}"


def weather(place: Place, script: list[Any], **options: Any) -> Agent[Any]:
    given = {"tools": [look, break_off, now], **options}
    return Agent("weather", "You know the weather.", model=place.model(script), **given)


async def test_a_text(place: Place) -> None:
    used = Used(input=20, output=7, cached=8)
    result = await run(weather(place, [Says("It is fine.", usage=used)], tools=[]))
    assert result.output == "It is fine."
    assert (result.usage.input_tokens, result.usage.output_tokens) == (20, 7)
    assert place.session.asked[0].system == "You know the weather."
    assert place.session.asked[0].texts == ["How is the weather?"]
    place.check()


async def test_an_agent_without_a_prompt(place: Place) -> None:
    result = await run(Agent("plain", "", model=place.model([OSLO, "3 degrees."]), tools=[look]))
    assert result.output == "3 degrees."
    place.check()


async def test_one_call(place: Place) -> None:
    result = await run(weather(place, [OSLO, "3 degrees."]))
    assert result.output == "3 degrees."
    assert place.session.asked[-1].results == [LOOKED]
    place.check()


async def test_calls_over_several_turns(place: Place) -> None:
    result = await run(weather(place, [OSLO, Call("look", {"city": "Rome"}), OSLO, "Fine."]))
    assert result.output == "Fine."
    assert place.session.asked[-1].results == [LOOKED, LOOKED.replace("Oslo", "Rome"), LOOKED]
    place.check()


async def test_parallel_calls(place: Place) -> None:
    result = await run(weather(place, [[OSLO, Call("look", {"city": "Rome"}), OSLO], "Fine."]))
    assert result.output == "Fine."
    assert place.session.asked[-1].results == [LOOKED, LOOKED.replace("Oslo", "Rome"), LOOKED]
    place.check()


async def test_a_text_beside_calls(place: Place) -> None:
    result = await run(weather(place, [Says("Let me see.", [OSLO]), "3 degrees."]))
    assert result.output == "3 degrees."
    assert [message.text for message in result.messages if message.role == "assistant"] == ["Let me see.", "3 degrees."]
    place.check()


async def test_a_tool_without_parameters_and_without_a_result(place: Place) -> None:
    result = await run(weather(place, [Call("now"), "It is late."]))
    assert result.output == "It is late."
    place.check()


async def test_a_tool_that_fails_is_told_and_flagged(place: Place) -> None:
    result = await run(weather(place, [[Call("break_off", {"city": "Oslo"}), OSLO], "I do not know."]))
    assert result.output == "I do not know."
    failed, looked = place.session.asked[-1].results
    assert "no wind in Oslo" in failed
    assert looked == LOOKED
    if "error flag" in place.provider.takes:
        assert place.session.asked[-1].failed == [True, False]
    place.check()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"city": 3}, id="wrong_type"),
        pytest.param({}, id="missing"),
        pytest.param({"city": "Oslo", "unit": "m"}, id="too_much"),
        pytest.param('{"city": "Os', id="cut"),
        pytest.param("Oslo", id="no_json"),
        pytest.param("[1]", id="no_object"),
        pytest.param("", id="nothing"),
    ],
)
async def test_arguments_that_do_not_fit_are_repaired(place: Place, arguments: Any) -> None:
    result = await run(weather(place, [Call("look", arguments), OSLO, "3 degrees."]))
    assert result.output == "3 degrees."
    assert [each.is_error for each in results(result)] == [True, False]
    place.check()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("dig", id="unknown"),
        pytest.param("functions.look", id="dotted"),
        pytest.param("", id="empty"),
        pytest.param("look it up", id="spaced"),
        pytest.param("værlæs", id="foreign"),
        pytest.param("look<|channel|>json", id="token"),
        pytest.param("l" * 80, id="long"),
    ],
)
async def test_an_odd_name_that_is_called_is_told(place: Place, name: str) -> None:
    result = await run(weather(place, [[Call(name, {"city": "Oslo"}), OSLO], OSLO, "3 degrees."]))
    assert result.output == "3 degrees."
    assert [each.is_error for each in results(result)] == [True, False, False]
    place.check()


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(["", ""], id="missing"),
        pytest.param(["c", "c"], id="same"),
        pytest.param(["c" * 90, "c" * 89 + "d"], id="long"),
        pytest.param(["look:1/ä", "look:2/ä"], id="odd"),
        pytest.param(["0", "1"], id="short"),
    ],
)
async def test_odd_ids_of_calls_are_told_apart(place: Place, ids: list[str]) -> None:
    calls = [Call("look", {"city": city}, id=id_) for city, id_ in zip(["Oslo", "Rome"], ids, strict=True)]
    result = await run(weather(place, [calls, calls, "Fine."]))  # the same once more: ids may come back in a run
    assert result.output == "Fine."
    assert place.session.asked[-1].results == [LOOKED, LOOKED.replace("Oslo", "Rome")] * 2
    place.check()


async def test_the_last_turn_of_a_budget_ends_with_a_text(place: Place) -> None:
    result = await run(weather(place, [OSLO, "3 degrees."], budget=Budget(turns=2)))
    assert result.output == "3 degrees."
    place.check()


async def test_a_call_that_is_allowed(place: Place) -> None:
    async def approve(wanted: ToolCall) -> Allow:
        return Allow()

    result = await run(weather(place, [Call("mail", {"to": "ann"}), "Done."], tools=[mail]), approve=approve)
    assert (result.output, place.session.asked[-1].results) == ("Done.", ["sent to ann"])
    place.check()


async def test_a_call_that_is_allowed_with_other_arguments(place: Place) -> None:
    async def approve(wanted: ToolCall) -> Allow:
        return Allow(arguments={"to": "bob"})

    result = await run(weather(place, [Call("mail", {"to": "ann"}), "Done."], tools=[mail]), approve=approve)
    assert (result.output, place.session.asked[-1].results) == ("Done.", ["sent to bob"])
    place.check()


async def test_a_call_that_is_denied(place: Place) -> None:
    async def approve(wanted: ToolCall) -> Deny:
        return Deny("not today")

    result = await run(weather(place, [Call("mail", {"to": "ann"}), "Well."], tools=[mail]), approve=approve)
    assert result.output == "Well."
    place.check()
    assert "not today" in place.session.asked[-1].results[0]


async def test_a_follow_up_sees_all_that_was_said(place: Place) -> None:
    agent = weather(place, [OSLO, "3 degrees.", Call("look", {"city": "Rome"}), "3 degrees, too.", "Bye."])
    result = await run(agent)
    result = await run(agent, "And in Rome?", after=result)
    result = await run(agent, "Thanks.", after=result)
    assert result.output == "Bye."
    assert place.session.asked[-1].texts == ["How is the weather?", "And in Rome?", "Thanks."]
    place.check()


async def test_a_follow_up_of_an_odd_answer(place: Place) -> None:
    agent = weather(place, [Says("  \n", stop="end"), "Fine.", "Still fine."])
    result = await run(agent)
    while result.output != "Still fine.":
        result = await run(agent, "How?", after=result)
    place.check()


async def test_a_sub_agent(place: Place) -> None:
    script: Script = {
        "You lead.": [Call("message_agent", {"agent_name": "reader", "message": "Of the sea?"}), "All is known."],
        "You read.": [OSLO, "It is cold."],
    }
    reader = Agent("reader", "You read.", tools=[look], description="Reads.")
    result = await run(Agent("lead", "You lead.", model=place.model(script), sub_agents=[reader]))
    assert result.output == "All is known."
    place.check()
    assert "It is cold." in place.session.asked[-1].results[0]


async def test_two_sub_agents_at_once_and_a_second_message_to_one(place: Place) -> None:
    asked = [Call("message_agent", {"agent_name": "reader", "message": f"Of {city}?"}) for city in ("Oslo", "Rome")]
    again = Call("message_agent", {"conversation_id": "reader-0-0", "message": "More?", "end": True})
    script: Script = {
        "You lead.": [asked, again, "All is known."],
        "Of Oslo?": [OSLO, "Cold.", "No more."],
        "Of Rome?": ["Warm."],
    }
    reader = Agent("reader", "You read.", tools=[look], description="Reads.")
    result = await run(Agent("lead", "You lead.", model=place.model(script), sub_agents=[reader]))
    assert result.output == "All is known."
    cold, warm, more = place.session.asked[-1].results
    assert ("Cold." in cold, "Warm." in warm, "No more." in more) == (True, True, True)
    place.check()


async def test_a_refusal_is_an_error_where_the_provider_tells_it_apart(place: Place) -> None:
    agent = weather(place, [Says(refusal="I will not.")])
    if "refusal" in place.provider.takes:
        with pytest.raises(ContentRefused, match="I will not"):
            await run(agent)
    else:
        assert (await run(agent)).output == "I will not."
    place.check()


async def test_an_answer_that_a_filter_has_cut_is_no_answer(place: Place) -> None:
    agent = weather(place, [Says("It is", stop="filter"), "It is fine."])
    try:
        assert (await run(agent)).output == "It is fine."  # asked again, where the provider only says that it broke off
    except ContentRefused:
        assert len(place.session.asked) == 1
    assert place.session.refusals == []


async def test_an_answer_that_is_too_long_is_an_error(place: Place) -> None:
    with pytest.raises(AnswerTooLong):
        await run(weather(place, [Says("It is", stop="length")]))
    place.check()
