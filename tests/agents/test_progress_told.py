"""What tools report of their calls: those who listen to the run are told, and hooks."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from anyio import Event, create_task_group, fail_after, to_thread
from tests.agents._hearing import Hear, both_hear, progress
from tests.agents._ways import Way, both_ways
from tests.agents._weather import results

from stagepost.agents import Agent, ScriptedModel, ToolContext, ToolProgress, call, tool
from stagepost.agents._live._told import ProgressMade
from stagepost.agents._loop._reporting import Reporting

KEY = "open-sesame-4711"


@tool(idempotent=True)
async def dig(context: ToolContext) -> str:
    "Dig a hole."
    context.progress(1, 2, f"with {KEY}")
    context.progress(2)
    return "dug"


@tool
def drill(context: ToolContext) -> str:
    "Drill, in a thread."
    context.progress(0.5, 1, "half")
    return "drilled"


def digger(*tools: Any, hooks: Any = (), below: Any = ()) -> Agent[Any]:
    calls = [call(each.name) for each in tools]
    return Agent("digger", "", model=ScriptedModel([calls, "done"]), tools=tools, hooks=hooks, sub_agents=below)


class Heard:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[ToolProgress] = []
        self.contexts: list[ToolContext] = []

    async def tool_progress(self, progress: ToolProgress, context: ToolContext) -> None:
        self.told.append(progress)
        self.contexts.append(context)


def made(call: str, tool: str, *of: Any) -> ProgressMade:
    return ProgressMade("digger", ("digger",), f"call-{call}", call, tool, *of)


@both_hear
async def test_listeners_are_told_what_tools_report(hear: Hear) -> None:
    told = await hear(digger(dig, drill), secrets={"key": KEY})
    found = sorted(progress(told), key=lambda each: (each.call, each.progress))
    assert found == [
        made("0-0", "dig", 1, 2, "with ***"),
        made("0-0", "dig", 2),
        made("0-1", "drill", 0.5, 1, "half"),
    ]


@both_ways
async def test_hooks_are_told_what_tools_report(way: Way) -> None:
    heard = Heard()
    result = await way(digger(dig, drill, hooks=[heard]))
    found = sorted(heard.told, key=lambda each: (each.tool, each.progress))
    assert found == [
        ToolProgress("dig", 1, 2, f"with {KEY}"),
        ToolProgress("dig", 2, None, None),
        ToolProgress("drill", 0.5, 1, "half"),
    ]
    assert {each.call_id for each in heard.contexts} == {"call-0-0", "call-0-1"}
    assert [message.text for message in results(result)] == ["dug", "drilled"]


@both_hear
async def test_hooks_and_listeners_are_told_without_secrets(hear: Hear) -> None:
    heard = Heard()
    told = await hear(digger(dig, hooks=[heard]), secrets={"key": KEY})
    assert [each.message for each in heard.told] == [each.message for each in progress(told)] == ["with ***", None]


@both_ways
async def test_a_report_that_nobody_wants_changes_nothing(way: Way) -> None:
    result = await way(digger(dig, drill))
    assert [message.text for message in results(result)] == ["dug", "drilled"]


def test_a_context_made_for_a_test_takes_reports() -> None:
    context: ToolContext = ToolContext("r", "a", "c", "k", None)
    context.progress(1, 2, "half")


async def test_hooks_are_told_while_the_tool_works() -> None:
    heard, is_told = Heard(), Event()

    class Waiting:
        async def tool_progress(self, _progress: ToolProgress, _context: ToolContext) -> None:
            is_told.set()

    @tool(idempotent=True)
    async def wait(context: ToolContext) -> str:
        "Wait until a hook was told."
        context.progress(1)
        await is_told.wait()
        context.progress(2)
        return "told"

    with fail_after(10):
        result = await digger(wait, hooks=[Waiting(), heard]).run("go")
    assert [message.text for message in results(result)] == ["told"]
    assert [each.progress for each in heard.told] == [1, 2]


async def test_a_hook_that_is_slower_than_the_tool_is_told_the_last_reports() -> None:
    heard = Heard()

    @tool(idempotent=True)
    async def count(context: ToolContext) -> str:
        "Count."
        for number in range(1000):
            context.progress(number)
        return "counted"

    await digger(count, hooks=[heard]).run("go")
    assert [each.progress for each in heard.told] == list(range(900, 1000))


@both_ways
async def test_the_failure_of_a_tool_that_has_reported_is_told_as_ever(way: Way) -> None:
    heard = Heard()

    @tool(idempotent=True)
    async def break_off(context: ToolContext) -> str:
        "Fail."
        context.progress(1)
        raise RuntimeError("no more")

    result = await way(digger(break_off, hooks=[heard]))
    assert "no more" in results(result)[0].text
    assert [each.progress for each in heard.told] == [1]


async def test_a_run_that_is_cancelled_in_the_middle_of_a_report_ends() -> None:
    heard, begun = Heard(), Event()

    @tool(idempotent=True)
    async def hang(context: ToolContext) -> str:
        "Never end."
        context.progress(1)
        begun.set()
        await Event().wait()
        return "never"

    with fail_after(10):
        async with create_task_group() as group:
            group.start_soon(digger(hang, hooks=[heard]).run, "go")
            await begun.wait()
            group.cancel_scope.cancel()


@both_hear
async def test_reports_from_any_thread_arrive(hear: Hear) -> None:
    @tool(idempotent=True)
    async def sail(context: ToolContext) -> str:
        "Sail, in a thread of its own."
        thread = threading.Thread(target=context.progress, args=(1, 1, "there"))
        thread.start()
        await to_thread.run_sync(thread.join)
        return "sailed"

    heard = Heard()
    told = await hear(digger(sail, hooks=[heard]))
    assert progress(told) == [made("0-0", "sail", 1, 1, "there")]
    assert heard.told == [ToolProgress("sail", 1, 1, "there")]


@both_hear
async def test_a_hook_around_a_call_may_report_too(hear: Hear) -> None:
    class Around:
        async def tool_call(self, made: Any, context: ToolContext, proceed: Any) -> Any:
            context.progress(0, message="about to begin")
            return await proceed(made)

    told = await hear(digger(dig, hooks=[Around()]))
    assert [each.progress for each in progress(told)] == [0, 1, 2]


@both_hear
async def test_agents_below_report_with_their_paths(hear: Hear) -> None:
    below = Agent("below", "", model=ScriptedModel([call("dig"), "dug"]), tools=[dig])
    model = ScriptedModel([call("message_agent", agent_name="below", message="dig"), "done"])
    told = await hear(Agent("lead", "", model=model, sub_agents=[below]))
    assert {(each.agent, tuple(each.path), each.call) for each in progress(told)} == {
        ("below", ("lead", "below"), "0-0")
    }


async def test_what_ends_a_call_is_not_put_into_a_group() -> None:
    async def park() -> None:
        raise LookupError("the run is parked")

    nothing: Any = None
    reporting = Reporting(nothing, [Heard()], "dig", nothing, nothing)
    with pytest.raises(LookupError, match="the run is parked"):
        await reporting.during(park, nothing)


async def test_a_server_is_asked_for_no_reports_that_nobody_wants() -> None:
    step: Any = SimpleNamespace(is_heard=False)
    nothing: Any = None
    assert Reporting(nothing, [], "dig", nothing, step).of_server(nothing) is None
