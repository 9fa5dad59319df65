"""The parts of real runs: whoever reads when, gets each once, and the same ones as who reads from the start."""

from collections.abc import Awaitable, Callable
from typing import Any

from anyio import fail_after
from tests.agents._weather import look
from tests.agents.stream._recording import Law, Loops, RecordingStore

from stagepost.agents import (
    Agent,
    AgentTool,
    Allow,
    Deny,
    ScriptedModel,
    StreamPart,
    Tasks,
    call,
    external_tool,
    tool,
)
from stagepost.checkpoint import WaitKind
from stagepost.workflows import PendingWait, Run, Runner


@tool(needs_approval=True)
def buy(what: str) -> str:
    "Buy a thing."
    return f"bought {what}"


price = external_tool("price", "Find the price of a thing.", returns=int)


def scout(*answers: Any) -> Agent[str]:
    return Agent("scout", "Look.", model=ScriptedModel(list(answers)), tools=[look, buy])


Drive = Callable[[Runner, Tasks, Run], Awaitable[None]]


async def ending(_runner: Runner, _tasks: Tasks, run: Run) -> None:
    assert not (await run.settled()).is_open


async def deciding(runner: Runner, tasks: Tasks, run: Run) -> None:
    """Decide and answer everything, the last first."""
    while (await run.settled()).is_open:
        waits = [wait for wait in await runner.waits() if wait.kind is WaitKind.ANSWER]
        if waits:
            await respond(tasks, waits[-1])


async def respond(tasks: Tasks, wait: PendingWait) -> None:
    if wait.name.startswith("ask-"):
        await tasks.answer(wait.id, 5, by="ben")
    else:
        is_denied = wait.shown["arguments"] == {"what": "no"}
        await tasks.decide(wait.id, Deny("not this") if is_denied else Allow(), by="ann")


async def told(agent: Agent[Any], drive: Drive = ending, run_id: str = "t") -> list[StreamPart]:
    """The parts of a run, which were read after each of its commits."""
    with fail_after(30):
        async with RecordingStore("t", "t2") as store, Runner(store, workflows=[agent]) as runner:
            tasks = Tasks(runner)
            await drive(runner, tasks, await tasks.start(agent, "hi", task_id="t"))
            await store.keep()
            law = Law(Loops(runner), run_id)
            await law.holds_in(store.moments)
            return law.parts


def types(parts: list[StreamPart]) -> list[str]:
    return [f"{'>' * (len(part.path) - 1)}{part.type}" for part in parts]


async def test_a_plain_answer() -> None:
    parts = await told(Agent("lead", "Lead.", model=ScriptedModel(["hello"])))
    assert types(parts) == ["message", "message", "completed"]
    assert [part.seq for part in parts] == [0, 1, None]
    assert parts[-1].to_dict()["result"] == "hello"
    assert {part.path for part in parts} == {("lead",)}


async def test_a_call() -> None:
    parts = await told(Agent("lead", "Lead.", model=ScriptedModel([call("look", city="Rome"), "ok"]), tools=[look]))
    assert types(parts) == ["message", "tool_call", "tool_result", "message", "completed"]
    assert parts[1].to_dict()["phrase"] == "Weather of Rome now..."


async def test_parallel_calls_with_approvals_questions_and_agents() -> None:
    helper = Agent("helper", "Help.", model=ScriptedModel(["helped", "helped"]))
    first = [
        call("buy", what="a"),
        call("look", city="Rome"),
        call("message_agent", agent_name="scout", message="go"),
        call("buy", what="no"),
        call("price"),
        call("ask_helper", request="help"),
        call("nothing"),
    ]
    second = [call("message_agent", conversation_id="scout-0-2", message="again"), call("ask_helper", request="help")]
    below = scout(call("look", city="Oslo"), "seen", [call("buy", what="b"), call("buy", what="no")], "bought")
    tools = [look, buy, price, AgentTool(helper, name="ask_helper")]
    lead = Agent("lead", "Lead.", model=ScriptedModel([first, second, "done"]), tools=tools, sub_agents=[below])
    parts = await told(lead, deciding)
    assert types(parts) == [
        "message",
        "tool_call",
        "tool_call",
        "tool_call",
        "tool_call",
        "tool_call",
        "tool_call",
        "tool_call",
        "approval_requested",
        "approval_decided",
        "tool_result",
        "tool_result",
        "agent_started",
        ">message",
        ">tool_call",
        ">tool_result",
        ">message",
        "agent_finished",
        "tool_result",
        "approval_requested",
        "approval_decided",
        "tool_result",
        "question_asked",
        "question_answered",
        "tool_result",
        "agent_started",
        ">message",
        ">message",
        "agent_finished",
        "tool_result",
        "tool_result",
        "tool_call",
        "tool_call",
        "agent_started",
        ">message",
        ">tool_call",
        ">tool_call",
        ">approval_requested",
        ">approval_decided",
        ">tool_result",
        ">approval_requested",
        ">approval_decided",
        ">tool_result",
        ">message",
        "agent_finished",
        "tool_result",
        "agent_started",
        ">message",
        ">message",
        "agent_finished",
        "tool_result",
        "message",
        "completed",
    ]
