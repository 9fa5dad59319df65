"""Tools of a provider for models of other providers: the model is not asked."""

import pytest
from tests.agents.providers._place import Place
from tests.agents.providers._scenes import everywhere, run
from tests.agents.providers.test_scenarios_served import WEB, searcher

from stagepost.agents import ProviderTool, UnsupportedTool, provider_tool

pytestmark = everywhere()


async def test_a_provider_without_the_tool_is_not_asked(place: Place) -> None:
    name = place.provider.setting.model.partition("/")[0]
    others = {key: value for key, value in WEB.declarations.items() if key != name}
    is_chat = place.provider.name == "openai-chat"
    given: ProviderTool = WEB if is_chat else provider_tool("web_search", others)
    agent = searcher(place, ["never said"], tools=[given])
    with pytest.raises(UnsupportedTool) as raised:
        await run(agent)
    told = str(raised.value)
    assert "provider tool 'web_search'" in told
    assert ('as "openai/responses/' in told) if is_chat else (f"no declaration for provider '{name}'" in told)
    assert place.session.requests == []
