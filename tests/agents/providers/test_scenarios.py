"""What an agent does, at each provider, whole and streamed, through the real litellm."""

from typing import Any

import pytest
from anyio import fail_after
from tests.agents._weather import look
from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call

from stagepost.agents import Agent, AgentResult

pytestmark = [
    pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"]),
    pytest.mark.parametrize("provider", PROVIDERS, ids=[each.name for each in PROVIDERS]),
    # What pydantic says of litellm's own code. litellm ignores the first when it is imported, and pytest undoes that;
    # the others nobody sees who has not asked for warnings of deprecation in other people's modules.
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
]


async def run(agent: Agent[Any], request: object = "How is the weather?", **options: Any) -> AgentResult[Any]:
    with fail_after(10):
        return await agent.run(request, **options)


async def test_a_text(place: Place) -> None:
    result = await run(Agent("weather", "You know the weather.", model=place.model(["It is fine."])))
    assert result.output == "It is fine."
    assert result.usage.tokens == 15
    place.check()


async def test_one_call(place: Place) -> None:
    model = place.model([Call("look", {"city": "Oslo"}), "3 degrees."])
    result = await run(Agent("weather", "You know the weather.", model=model, tools=[look]))
    assert result.output == "3 degrees."
    assert place.session.asked[-1].results == ['{"city":"Oslo","degrees":3}']
    place.check()
