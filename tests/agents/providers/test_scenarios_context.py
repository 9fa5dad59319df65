"""Long loops at each provider with messages left out: what is sent is taken, and a prompt too long is known as such."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
from tests.agents._weather import look
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Asked, Call, Entry, Refused, Says, Thought, Used
from tests.agents.providers._scenes import LOOKED, everywhere, run

from stagepost.agents import (
    Agent,
    Budget,
    ClearResults,
    Compaction,
    ContextPolicy,
    Cut,
    KeepLast,
    Summarize,
    Window,
    tool,
)

pytestmark = everywhere()
IN_TURNS = True

OSLO, ROME = Call("look", {"city": "Oslo"}), Call("look", {"city": "Rome"})
SUMMARY: Final = "Write the summary of this conversation."
LOOP: Final[Sequence[Entry]] = [
    OSLO,
    Says("Let me see.", [OSLO, ROME]),
    [OSLO, OSLO],
    Says("Again.", [ROME]),
    OSLO,
    [ROME, OSLO],
    OSLO,
    ROME,
]


class Holes:
    """Leaves out every second message, as no sensible compaction does."""

    def cut(self, window: Window) -> Cut:
        return Cut(drop=range(1, len(window.messages), 2), clear=range(0, len(window.messages), 3))


COMPACTIONS: Final[Mapping[str, Compaction]] = {
    "last turns": KeepLast(turns=1),
    "last messages": KeepLast(messages=3),
    "results": ClearResults(keep=1, longer_than=0),
    "summary": Summarize(keep_turns=1),
    "holes": Holes(),
}
TOO_LONG: Final = {
    "openai-chat": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130002.",
    "openai-responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "mistral": "Prompt contains 40959 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "deepseek": "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
    "anthropic": "prompt is too long: 215000 tokens > 200000 maximum",
    "gemini": "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    "bedrock": "Input is too long for requested model.",
}


def weather(place: Place, script: Sequence[Entry], policy: ContextPolicy, **options: Any) -> Agent[Any]:
    thinking = options.pop("thinking", False)
    lists: dict[str, Sequence[Entry]] = {
        SUMMARY: ["It was cold."] * options.pop("summaries", 0),
        "You know the weather.": list(script),
    }
    model = place.model(lists, thinking=thinking)
    given = {"tools": [look], "budget": Budget(turns=None), **options}
    return Agent("weather", "You know the weather.", model=model, context=policy, **given)


def refuses(place: Place) -> Entry:
    """The provider says that the prompt is too long, in its own words."""

    def answer(asked: Asked) -> str:
        code = "context_length_exceeded" if place.provider.name.startswith("openai") else None
        raise Refused(TOO_LONG[place.provider.name], code=code)

    return answer


@pytest.mark.parametrize("compaction", COMPACTIONS.values(), ids=COMPACTIONS)
async def test_a_long_loop_with_messages_left_out(place: Place, compaction: Compaction) -> None:
    policy = ContextPolicy(limit=1_000, messages=7, compact=[compaction])
    summaries = 3 if isinstance(compaction, Summarize) else 0
    result = await run(weather(place, [*LOOP, "3 degrees."], policy, summaries=summaries))
    assert result.output == "3 degrees."
    assert len(result.messages) == 21
    asked = [each for each in place.session.asked if each.system == "You know the weather."]
    assert all(each.texts[0] == "How is the weather?" for each in asked)
    place.check()


@pytest.mark.parametrize("compaction", COMPACTIONS.values(), ids=COMPACTIONS)
async def test_a_long_loop_of_a_model_that_thinks(place: Place, compaction: Compaction) -> None:
    if place.provider.thinking is None:
        pytest.skip("it has no thinking model")
    script = [Says(calls=[call], thinking=[Thought(f"thought {n}")]) for n, call in enumerate([OSLO, ROME] * 4)]
    policy = ContextPolicy(limit=1_000, messages=7, compact=[compaction])
    summaries = 3 if isinstance(compaction, Summarize) else 0
    agent = weather(place, [*script, "3 degrees."], policy, summaries=summaries, thinking=True)
    assert (await run(agent)).output == "3 degrees."
    place.check()


async def test_a_follow_up_of_a_run_with_messages_left_out(place: Place) -> None:
    policy = ContextPolicy(messages=7, compact=[KeepLast(turns=1)])
    agent = weather(place, [*LOOP, "3 degrees.", OSLO, "Still 3.", "Bye."], policy)
    result = await run(agent)
    result = await run(agent, "And now?", after=result)
    result = await run(agent, "Thanks.", after=result)
    assert result.output == "Bye."
    assert place.session.asked[-1].texts[0] == "How is the weather?"
    assert place.session.asked[-1].texts[-1] == "Thanks."
    place.check()


async def test_a_long_result_is_read_on(place: Place) -> None:
    @tool(idempotent=True)
    async def report() -> str:
        "A long report."
        return "x" * 900 + "y" * 900

    policy = ContextPolicy(result_limit=600)
    read = Call("read_result", {"result": 2, "offset": 300})
    agent = weather(place, [Call("report"), read, [read, OSLO], "Read."], policy, tools=[report, look])
    assert (await run(agent)).output == "Read."
    first, second, third, looked = place.session.asked[-1].results
    assert "are missing here; read_result(result=2, offset=300) reads on" in first
    assert second == third
    assert second.endswith("x" * 400)
    assert looked == LOOKED
    place.check()


async def test_a_prompt_that_is_too_long_is_made_shorter(place: Place) -> None:
    script = [*LOOP, refuses(place), OSLO, "3 degrees."]
    result = await run(weather(place, script, ContextPolicy()))
    assert result.output == "3 degrees."
    assert [each.message for each in place.session.refusals] == [TOO_LONG[place.provider.name]]
    assert place.session.unsaid == 0
    before, after = place.session.asked[len(LOOP) - 1 : len(LOOP) + 1]
    assert len(after.results) < len(before.results)


async def test_the_providers_count_of_tokens_decides(place: Place) -> None:
    script = [Says(calls=[OSLO], usage=Used(input=100 + 100 * number)) for number in range(6)]
    result = await run(weather(place, [*script, "3 degrees."], ContextPolicy(limit=450, compact=[KeepLast(turns=1)])))
    assert result.output == "3 degrees."
    assert any("not shown" in text for each in place.session.asked for text in each.texts)
    place.check()
