"""Tools of providers, as agents declare them; what providers make of them: providers/test_scenarios_served.py."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel
from tests.agents._weather import look

from stagepost.agents import (
    Agent,
    InvalidAgent,
    InvalidTool,
    LiteLLM,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    UnsupportedTool,
    UserMessage,
    provider_tool,
    toolset,
)
from stagepost.agents._models._limited import RateLimited
from stagepost.agents._models._request_key import request_key
from stagepost.agents.models import Attempt, ModelAdapter

WEB = provider_tool("web", {"anthropic": {"type": "web_search_20250305", "name": "web_search"}})


class City(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("declarations", "why"),
    [
        ({}, "it has no declarations"),
        ("anthropic", "it has no declarations"),
        ({"anthropic": {}}, "its declaration for 'anthropic' is not a JSON object"),
        ({"anthropic": "web"}, "its declaration for 'anthropic' is not a JSON object: 'web'"),
        ({"anthropic": {"type": object()}}, "its declaration for 'anthropic' is not JSON"),
    ],
)
def test_a_declaration_is_a_json_object(declarations: Any, why: str) -> None:
    with pytest.raises(InvalidTool, match=why):
        provider_tool("web", declarations)


def test_a_declaration_does_not_change_with_what_it_was_made_of() -> None:
    given: dict[str, Any] = {"openai": {"type": "web_search", "filters": []}}
    made = provider_tool("web", given)
    given["openai"]["filters"].append("x")
    assert made.declarations == {"openai": {"type": "web_search", "filters": []}}


async def test_a_model_of_your_own_gets_them_on_each_turn() -> None:
    model = ScriptedModel(["done"])
    agent = Agent("finder", "", model=model, tools=[WEB, look])
    await agent.run("go")
    assert list(model.requests[0].provider_tools) == [WEB]
    assert [each.name for each in model.requests[0].tools] == ["look"]
    assert agent.describe()["provider_tools"] == [{"name": "web", "declarations": WEB.declarations}]


def test_an_agent_keeps_toolsets_and_provider_tools_when_it_is_copied() -> None:
    tools = toolset([look])
    agent = Agent("finder", "", tools=[WEB, tools, look])
    assert replace(agent, tools=[]).toolsets == (WEB, tools)
    assert replace(agent, name="other").tools == agent.tools


def test_wrong_ones_are_refused() -> None:
    with pytest.raises(InvalidAgent, match="two provider tools are named 'web'"):
        Agent("finder", "", tools=[WEB, WEB])
    with pytest.raises(InvalidAgent, match="which is no toolset"):
        Agent("finder", "", toolsets=[look])  # type: ignore[list-item]  # what is wrong
    with pytest.raises(InvalidAgent, match="native"):
        Agent("finder", "", tools=[WEB], output=City, output_mode="native")


def test_recordings_of_requests_without_them_stay_valid() -> None:
    asked = ModelRequest([UserMessage(text="?")])
    before, with_tools = (
        request_key(each, str) for each in (asked, replace(asked, provider_tools=[WEB]))
    )  # what identifies a request
    assert before == "3e087c35c0f46a46071261f460f068eaa13ae2e5d453289bc6befaff79b1c9b2"
    assert with_tools != before


async def test_an_adapter_of_your_own_takes_them_if_it_says_so() -> None:
    class Mine(ModelAdapter):
        async def ask(self, request: ModelRequest, attempt: Attempt) -> ModelResponse:  # noqa: ARG002  # the base's
            return ModelResponse(f"with {len(request.provider_tools)}")

    class Taking(Mine):
        def check_provider_tools(self, request: ModelRequest) -> None:
            """All of them."""

    with pytest.raises(UnsupportedTool, match="Mine sends its provider no such tools"):
        await Agent("finder", "", model=Mine("mine"), tools=[WEB]).run("go")
    with pytest.raises(UnsupportedTool, match="Mine sends its provider no such tools"):
        await Mine("mine").answer(ModelRequest([], provider_tools=[WEB]))
    assert (await Agent("finder", "", model=Taking("mine"), tools=[WEB]).run("go")).output == "with 1"


def test_a_model_that_wraps_another_asks_it() -> None:
    class Never(ScriptedModel):
        def check_provider_tools(self, request: ModelRequest) -> None:
            raise UnsupportedTool("never", request.provider_tools[0].name, "it has none")

    request = ModelRequest([], provider_tools=[WEB])
    with pytest.raises(UnsupportedTool, match=r"'never' was not asked.*provider tool 'web': it has none"):
        RateLimited(Never([])).check_provider_tools(request)
    RateLimited(Never([])).check_provider_tools(ModelRequest([]))
    RateLimited(ScriptedModel([])).check_provider_tools(request)
    LiteLLM("openai/x").check_provider_tools(request)  # before it is prepared nothing is known
