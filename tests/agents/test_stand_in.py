"""Which model a run asks: `model=` is for agents without one, `override_model=` stands in for the root's own."""

import pytest

from stagepost.agents import (
    Agent,
    AgentTool,
    FunctionModel,
    InvalidModel,
    InvalidRequest,
    LLMTool,
    ModelRequest,
    ScriptedModel,
    ToolCall,
    ToolContext,
    call,
)

OWN, RUN, OTHER = ("own", "run", "other")
ASK = call("message_agent", agent_name="below", message="?")


def saying(text: str) -> FunctionModel:
    return FunctionModel(lambda _: text)


def delegating(request: ModelRequest) -> str | ToolCall:
    """Below it says so; at the top it asks the agent below, and says what that has said."""
    last = request.messages[-1].text
    if last == "?":
        return RUN
    return last if len(request.messages) > 2 else ASK


async def test_p7_model_is_asked_by_an_agent_without_one() -> None:
    assert (await Agent("w", "").run("?", model=saying(RUN))).output == RUN


async def test_p7_model_for_an_agent_with_one_is_refused_and_names_the_way_out() -> None:
    agent = Agent("w", "", model=saying(OWN))
    with pytest.raises(InvalidRequest, match=r"agent 'w' .* has a model of its own, .* give override_model="):
        await agent.run("?", model=saying(RUN))
    named = Agent("w", "", model="fast", models={"fast": saying(OWN)})
    with pytest.raises(InvalidRequest, match="override_model="):
        await named.run("?", model="fast")


async def test_p7_override_model_stands_in_for_the_agents_own() -> None:
    agent = Agent("w", "", model=saying(OWN), models={"slow": saying("slow")})
    assert (await agent.run("?", override_model=saying(RUN))).output == RUN
    assert (await agent.run("?", override_model="slow")).output == "slow", "a name means what it means to the agent"
    assert (await agent.run("?")).output == OWN
    assert (await Agent("w", "").run("?", override_model=saying(RUN))).output == RUN


async def test_p7_both_at_once_are_refused() -> None:
    for agent in (Agent("w", ""), Agent("w", "", model=saying(OWN))):
        with pytest.raises(InvalidRequest):
            await agent.run("?", model=saying(RUN), override_model=saying(OTHER))


@pytest.mark.parametrize("option", ["model", "override_model"])
async def test_p7_agents_below_without_a_model_ask_it_too_and_others_their_own(option: str) -> None:
    root = saying(OWN) if option == "override_model" else None
    for below, said in ((None, "run"), (saying(OWN), "own")):
        lead = Agent("lead", "", model=root, sub_agents=[Agent("below", "", model=below)])
        output = (await lead.run("go", **{option: FunctionModel(delegating)})).output  # type: ignore[arg-type]  # one of two names
        assert f'"response":"{said}"' in output


async def test_p7_what_is_no_model_is_refused() -> None:
    with pytest.raises(InvalidModel):
        await Agent("w", "").run("?", model=7)  # type: ignore[arg-type]  # what is under test
    with pytest.raises(InvalidModel):
        await Agent("w", "", model=saying(OWN)).run("?", override_model=7)  # type: ignore[arg-type]  # the same


async def test_p7_a_tool_that_is_an_agent_asks_its_own_model_before_its_tools_and_the_callers() -> None:
    below, bare = Agent("below", "", model=saying(OWN)), Agent("bare", "")
    asked = [AgentTool(below, model=saying(OTHER)), AgentTool(bare, model=saying(OTHER)), LLMTool("say", "{text}")]
    calls = [call("below", request="?"), call("bare", request="?"), call("say", text="?")]
    model = ScriptedModel([calls, RUN, "done"])
    result = await Agent("lead", "", model=model, tools=asked).run("go")
    assert [message.text for message in result.messages[2:5]] == [OWN, OTHER, RUN]


async def test_p7_a_tool_that_is_an_agent_may_be_called_by_itself() -> None:
    context = ToolContext(run_id="r", agent="lead", call_id="c", idempotency_key="k", deps=None, model=saying(RUN))
    for agent, said in ((Agent("below", "", model=saying(OWN)), OWN), (Agent("below", ""), RUN)):
        assert await AgentTool(agent).function(context=context, request="?") == said  # type: ignore[misc]  # async
