"""Agents that speak with each other."""

from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    AgentResult,
    AgentTool,
    AssistantMessage,
    Budget,
    FunctionModel,
    ModelMissing,
    ModelRequest,
    ScriptedModel,
    UserMessage,
    call,
)
from stagepost.agents._delegation._calls import PendingCall, Talk
from stagepost.agents._delegation._messaging import lanes, message_tool, request_of
from stagepost.checkpoint import MemoryStore
from stagepost.hub import Hub
from stagepost.workflows import Runner


def said(request: ModelRequest) -> list[str]:
    """What the user has said in a request."""
    return [message.text for message in request.messages if isinstance(message, UserMessage)]


def echoing(request: ModelRequest) -> str:
    """Says what was said to it so far."""
    return " / ".join(said(request))


echo = Agent("echo", prompt="Repeat.", model=FunctionModel(echoing), description="Repeats what it hears.")


def lead(*script: object, **options: Any) -> Agent[str]:
    model = ScriptedModel([*script])  # type: ignore[list-item]  # as it comes
    return Agent("lead", prompt="Lead.", model=model, **{"sub_agents": [echo], **options})


async def in_memory(agent: Agent[Any]) -> AgentResult[Any]:
    return await agent.run("go")


async def durably(agent: Agent[Any]) -> AgentResult[Any]:
    async with MemoryStore() as store, Hub("h") as hub, Runner(store, hub=hub) as runner:
        await runner.serve(agent)
        workflow = agent.as_workflow()
        with anyio.fail_after(10):
            await hub.request("lead", "go", headers={"idempotency-key": "k"})
            run = await runner.start(workflow, workflow.accept("go"), key="k")
            return workflow.result(await run.result())  # type: ignore[attr-defined, no-any-return]


both = pytest.mark.parametrize("run", [in_memory, durably])


@both
async def test_conversation_goes_on_where_it_was(run: Any) -> None:
    agent = lead(
        call("message_agent", agent_name="echo", message="one"),
        call("message_agent", conversation_id="echo-0-0", message="two"),
        call("message_agent", conversation_id="echo-0-0", message="three", end=True),
        call("message_agent", conversation_id="echo-0-0", message="four"),
        "done",
    )
    result = await run(agent)
    texts = [each.text for each in results(result)]
    assert texts[0] == '{"conversation_id":"echo-0-0","agent_name":"echo","response":"one","is_complete":false}'
    assert texts[1] == '{"conversation_id":"echo-0-0","agent_name":"echo","response":"one / two","is_complete":false}'
    assert '"is_complete":true' in texts[2]
    assert texts[3] == "conversation 'echo-0-0' has ended: start another one with agent_name"
    (conversation,) = result.conversations
    assert (conversation.id, conversation.agent, conversation.is_complete) == ("echo-0-0", "echo", True)
    assert [(each.message, each.response) for each in conversation.exchanges] == [
        ("one", "one"),
        ("two", "one / two"),
        ("three", "one / two / three"),
    ]


@both
async def test_conversations_with_one_agent_go_on_side_by_side_and_never_mix(run: Any) -> None:
    agent = lead(
        [call("message_agent", agent_name="echo", message=name) for name in "ab"],
        [call("message_agent", conversation_id=f"echo-0-{n}", message=name) for n, name in enumerate("cd")],
        "done",
    )
    result = await run(agent)
    assert [each.exchanges[-1].response for each in result.conversations] == ["a / c", "b / d"]


@both
async def test_messages_to_one_conversation_queue_in_the_order_of_the_calls(run: Any) -> None:
    agent = lead(
        call("message_agent", agent_name="echo", message="one"),
        [call("message_agent", conversation_id="echo-0-0", message=text) for text in ("two", "three")],
        "done",
    )
    result = await run(agent)
    assert [each.response for each in result.conversations[0].exchanges] == ["one", "one / two", "one / two / three"]


@both
async def test_failure_of_an_agent_is_told_and_ends_its_conversation(run: Any) -> None:
    deaf = Agent("deaf", prompt="No.", model=ScriptedModel([ValueError("no ears")]))
    agent = lead(
        call("message_agent", agent_name="deaf", message="one"),
        call("message_agent", conversation_id="deaf-0-0", message="two"),
        "done",
        sub_agents=[deaf],
    )
    result = await run(agent)
    first, second = results(result)
    assert first.is_error
    assert "no ears" in first.text
    assert '"is_complete":true' in first.text
    assert "has ended" in second.text


@both
async def test_output_of_an_agent_is_the_response(run: Any) -> None:
    class Point(BaseModel):
        x: int

    typed = Agent("typed", prompt="Point.", model=ScriptedModel([call("return", x=3)]), input=Point, output=Point)
    agent = lead(call("message_agent", agent_name="typed", message='{"x": 2}'), "done", sub_agents=[typed])
    result = await run(agent)
    assert result.conversations[0].exchanges[0].response == {"x": 3}


@both
async def test_agents_below_have_the_model_of_the_one_above_and_share_its_budget(run: Any) -> None:
    def answer(request: ModelRequest) -> Any:
        system = request.messages[0].text
        if system == "Lead." and not any(isinstance(message, AssistantMessage) for message in request.messages):
            return call("message_agent", agent_name="heir", message="hi")
        return f"{system} says {len(request.tools)} tools"

    heir = Agent("heir", prompt="Heir.")
    agent = Agent("lead", prompt="Lead.", model=FunctionModel(answer), sub_agents=[heir], budget=Budget(turns=3))
    result = await run(agent)
    assert result.conversations[0].exchanges[0].response == "Heir. says 0 tools"
    assert result.output == "Lead. says 0 tools", "its last turn: one of three was the other agent's"
    assert result.turns == 2


async def test_agent_that_has_no_model_anywhere_is_told_before_the_first_turn() -> None:
    agent = Agent("lead", prompt="Lead.", sub_agents=[Agent("heir", prompt="Heir.")])
    with pytest.raises(ModelMissing, match="lead"):
        await agent.run("go")


def test_tool_and_an_agent_of_one_name_are_told_apart() -> None:
    inner = Agent("inner", prompt="I.", model=ScriptedModel([]))
    outer = Agent("outer", prompt="O.", tools=[AgentTool(inner, description="d")], model=ScriptedModel([]))
    assert outer.as_workflow().companions[0].name == "outer:inner"


@pytest.mark.parametrize(
    ("message", "asked"),
    [('{"x": 1}', {"x": 1}), ("x is 1", "x is 1"), ("[1]", "[1]")],
    ids=["fields", "text", "other JSON"],
)
def test_message_may_be_the_fields_of_what_an_agent_takes(message: str, asked: object) -> None:
    class Point(BaseModel):
        x: int

    assert request_of(message, Agent("typed", prompt="", input=Point)) == asked


def entry(number: str, **arguments: object) -> PendingCall:
    made = call("message_agent", **arguments)
    return PendingCall(number, 0, number, made.name, made.arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        pytest.param({"message": "m"}, "give either agent_name", id="to nobody"),
        pytest.param({"message": "m", "agent_name": "echo", "conversation_id": "c"}, "give either", id="to two"),
        pytest.param({"message": "m", "conversation_id": "d"}, "no conversation 'd'; there are: c, e", id="unknown"),
        pytest.param({"message": "m", "conversation_id": "e"}, "'e' has ended", id="ended"),
    ],
)
def test_message_that_reaches_nobody_says_why(arguments: dict[str, object], complaint: str) -> None:
    talks = {"c": Talk(agent="echo", turns=1), "e": Talk(agent="echo", turns=1, ended=True)}
    ((placed,),) = lanes([entry("0-0", **arguments)], talks, message_tool([echo]), now=0)
    assert complaint in str(placed.complaint)


def test_message_behind_the_last_one_of_its_conversation_says_why() -> None:
    talks = {"c": Talk(agent="echo", turns=1)}
    first = entry("0-0", message="m", conversation_id="c", end=True)
    second = entry("0-1", message="m", conversation_id="c")
    lane, alone = lanes([first, second], talks, message_tool([echo]), now=0)
    assert [call.talk and call.talk.turn for call in lane] == [1]
    assert "has ended" in str(alone[0].complaint)


def test_unknown_agent_does_not_fit_the_tool() -> None:
    made = entry("0-0", message="m", agent_name="nobody")
    assert lanes([made], {}, message_tool([echo]), now=0) == [(made,)]
