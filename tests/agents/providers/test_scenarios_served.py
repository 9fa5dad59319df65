"""Tools that the provider executes itself: declared, kept with the answer, and sent back to it alone."""

from collections.abc import Sequence
from typing import Any, Final

import pytest
from tests.agents._weather import look
from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._anthropic import ANTHROPIC
from tests.agents.providers._gemini import GEMINI
from tests.agents.providers._openai_responses import OPENAI_RESPONSES
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Entry, Says, Search, Thought
from tests.agents.providers._scenes import LOOKED, everywhere, run, tasks_of

from stagepost.agents import (
    Agent,
    AssistantMessage,
    Budget,
    ChatMessage,
    ContextPolicy,
    Fallback,
    HandoffFilter,
    ModelRequest,
    ModelResponse,
    UnsupportedTool,
    handoff,
    provider_tool,
)

WEB: Final = provider_tool(
    "web_search",
    {
        "anthropic": {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        "openai": {"type": "web_search"},
        "gemini": {"googleSearch": {}},
    },
)
SERVING: Final = [ANTHROPIC, OPENAI_RESPONSES, GEMINI]
SHOWN: Final = {ANTHROPIC.name, OPENAI_RESPONSES.name}  # whose searches come back without other tools beside

pytestmark = everywhere(SERVING)


def searcher(place: Place, script: list[Entry], *, thinking: bool = False, **options: Any) -> Agent[Any]:
    model = place.model(script, thinking=thinking)
    return Agent("finder", "You find things.", model=model, **{"tools": [WEB], **options})


def answers(result: Any) -> list[AssistantMessage]:
    return [message for message in result.messages if isinstance(message, AssistantMessage)]


async def test_a_tool_of_the_provider_is_declared_and_no_call_of_ours(place: Place) -> None:
    agent = searcher(place, [Says("High at noon.", searches=[Search("tides")])], budget=Budget(turns=1, tool_calls=0))
    result = await run(agent, "When is high water?")
    place.check()
    assert (result.output, result.turns) == ("High at noon.", 1)
    (answer,) = answers(result)
    assert answer.calls == ()
    assert answer.provider, "what the provider returns for its tools is kept"
    sent = place.session.requests[0].body["tools"]
    assert {**WEB.declarations}[place.session.provider.setting.model.partition("/")[0]] in sent


async def test_what_was_found_goes_back_in_the_next_turn(place: Place) -> None:
    script: list[Entry] = [Says("High at noon.", searches=[Search("tides"), Search("moon")]), Says("At six.")]
    agent = searcher(place, script)
    first = await run(agent, "When is high water?")
    assert (await run(agent, "And low?", after=first)).output == "At six."
    place.check()
    assert place.session.asked[-1].searches == (["tides", "moon"] if place.provider.name in SHOWN else [])


async def test_what_was_found_goes_back_after_a_restart(place: Place) -> None:
    agent = searcher(place, [Says("High at noon.", searches=[Search("tides")])])
    async with tasks_of(agent) as (tasks, _):
        await (await tasks.start(agent, "When?", task_id="a")).result()
        place.session.extend(["At six."])
        await (await tasks.follow_up("a", "And low?", new_id="b")).result()
        assert (await tasks.get("b")).output == "At six."
    place.check()
    assert place.session.asked[-1].searches == (["tides"] if place.provider.name in SHOWN else [])


async def test_a_search_beside_calls_of_other_tools(place: Place) -> None:
    thinking = place.provider is GEMINI  # the model that takes both is the one that thinks
    script: list[Entry] = [
        Says("Let me see.", searches=[Search("tides")], calls=[Call("look", {"city": "Oslo"})]),
        Says("Fine at noon.", searches=[Search("moon")]),
        "And so on.",
    ]
    agent = searcher(place, script, thinking=thinking, tools=[WEB, look])
    first = await run(agent, "Weather and tides?")
    assert first.output == "Fine at noon."
    assert [len(answer.calls) for answer in answers(first)] == [1, 0]
    await run(agent, "And?", after=first)
    place.check()
    assert place.session.asked[-1].results == [LOOKED]
    assert place.session.asked[-1].searches == ["tides", "moon"]


@pytest.mark.parametrize("calls", [False, True], ids=["alone", "with calls"])
async def test_searches_stand_where_they_stood_among_thinking(place: Place, calls: bool) -> None:  # noqa: FBT001  # a parameter of the table
    first = Says(
        "Found.",
        thinking=[Thought("I have to search.")],
        searches=[Search("tides")],
        calls=[Call("look", {"city": "Oslo"})] if calls else [],
    )
    script: list[Entry] = [first, "Yes.", "No."] if calls else [first, "Yes."]
    agent = searcher(place, script, thinking=True, tools=[WEB, look] if calls else [WEB])
    result = await run(agent, "Tides?")
    await run(agent, "Sure?", after=result)
    place.check()
    if place.provider.name in SHOWN or calls:
        assert place.session.asked[-1].searches == ["tides"]
    if place.provider.name in SHOWN:
        assert place.session.asked[-1].thoughts == ["I have to search."]


async def test_a_paused_turn_is_gone_on_with(place: Place) -> None:
    if place.provider is not ANTHROPIC:
        pytest.skip("this provider has no such pauses")
    script: list[Entry] = [
        Says("", searches=[Search("tides", waits=True)], stop="pause"),
        Says("Still searching.", late=["tides"], searches=[Search("moon", waits=True)], stop="pause"),
        Says("High at noon.", late=["moon"]),
        "Yes.",
    ]
    agent = searcher(place, script)
    result = await run(agent, "When?")
    assert (result.output, result.turns) == ("High at noon.", 3)
    await run(agent, "Sure?", after=result)
    place.check()
    assert place.session.asked[-1].searches == ["tides", "moon"]


async def test_a_search_that_waits_for_a_call_of_ours_has_its_result_later(place: Place) -> None:
    if place.provider is not ANTHROPIC:
        pytest.skip("this provider has its results at once")
    script: list[Entry] = [
        Says(searches=[Search("tides", waits=True)], calls=[Call("look", {"city": "Oslo"})]),
        Says("High at noon.", late=["tides"]),
        "Yes.",
    ]
    agent = searcher(place, script, tools=[WEB, look])
    result = await run(agent, "When?")
    await run(agent, "Sure?", after=result)
    place.check()
    assert place.session.asked[-1].searches == ["tides"]


async def test_what_was_found_goes_to_no_other_provider(place: Place) -> None:
    result = await run(searcher(place, [Says("High at noon.", searches=[Search("tides")])]), "When?")
    for other in PROVIDERS:
        elsewhere = place.at(other)
        agent = Agent("finder", "You find things.", model=elsewhere.model(["Yes."]))
        await run(agent, "Sure?", after=result)
        elsewhere.check()
        assert "example.org" not in str(elsewhere.session.requests) or other is place.provider


async def test_a_fallback_skips_models_whose_provider_has_not_got_the_tool(place: Place) -> None:

    class Never:
        def check_provider_tools(self, request: ModelRequest) -> None:
            raise UnsupportedTool("never", request.provider_tools[0].name, "it has none")

        async def answer(self, request: ModelRequest) -> ModelResponse:  # noqa: ARG002  # the protocol's
            raise AssertionError

    model = Fallback([Never(), place.model([Says("Found.", searches=[Search("tides")])])])
    assert (await run(Agent("finder", "", model=model, tools=[WEB]))).output == "Found."
    with pytest.raises(UnsupportedTool, match="it has none"):
        await run(Agent("finder", "", model=Fallback([Never()]), tools=[WEB]))


async def test_gemini_before_version_3_takes_no_tools_beside_its_own(place: Place) -> None:
    if place.provider is not GEMINI:
        pytest.skip("a rule of Gemini's")
    with pytest.raises(UnsupportedTool, match="only without other tools"):
        await run(searcher(place, ["never said"], tools=[WEB, look]))
    assert place.session.requests == []


def half(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    return [message for message in messages if message.role != "tool" or message.text != LOOKED]


@pytest.mark.parametrize("filtering", [None, half], ids=["whole", "half"])
@pytest.mark.parametrize("tools", [[], [WEB]], ids=["without", "with"])
async def test_what_was_found_is_handed_over(place: Place, tools: list[Any], filtering: HandoffFilter | None) -> None:
    """The other agent asks the same model: with the provider's tool, or without any."""
    model = place.model(
        {
            "You find things.": [
                Says("Let me see.", searches=[Search("tides")], calls=[Call("look", {"city": "Oslo"})]),
                Says("Let me hand over.", searches=[Search("moon")], calls=[Call("transfer_to_poet", {})]),
            ],
            "You rhyme.": ["Noon and moon.", "Soon."],
        },
        thinking=place.provider is GEMINI,  # the model that takes both is the one that thinks
    )
    poet = Agent("poet", "You rhyme.", tools=tools, context=ContextPolicy(messages=4))
    over = handoff(poet, filter=filtering)
    finder = Agent("finder", "You find things.", model=model, tools=[WEB, look, over])
    result = await run(finder)
    assert (result.output, result.agent) == ("Noon and moon.", "poet")
    assert (await run(finder, "More?", after=result)).output == "Soon."
    place.check()
