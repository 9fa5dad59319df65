"""Tasks and conversations at each provider: told, followed up, decided, and taken up by another process."""

from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from tests.agents._weather import look
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Entry, Says, Thought
from tests.agents.providers._scenes import LOOKED, everywhere, tasks_of
from tests.agents.providers._server import Script

from stagepost.agents import Agent, Allow, Budget, Memory, Tool, converse, tool
from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.workflows import Run, RunFailed, Runner

pytestmark = everywhere()
IN_TURNS = True  # how the parts of a stream are put together is seen in test_scenarios.py

OSLO = Call("look", {"city": "Oslo"})
CROSS: Final = Call("cross", {})


@tool(needs_approval=True)
async def mail(to: str) -> str:
    "Send a mail."
    return f"sent to {to}"


class Bridge:
    """A tool that holds whoever calls it, until it is opened."""

    def __init__(self, *, is_open: bool = False) -> None:
        self.entered = anyio.Event()
        self.open = anyio.Event()
        if is_open:
            self.open.set()

    def tool(self, *, idempotent: bool) -> Tool[Any, Any]:
        @tool(idempotent=idempotent)
        async def cross() -> str:
            "Cross the bridge."
            self.entered.set()
            await self.open.wait()
            return "crossed"

        return cross


def agent(
    place: Place, script: Script | None, *tools: Tool[Any, Any] | Memory, thinking: bool = False, **options: Any
) -> Any:
    """An agent of a script, or of the script that an agent before it has begun."""
    model = place.again(thinking=thinking) if script is None else place.model(script, thinking=thinking)
    return Agent("planner", "You plan.", model=model, tools=tools, **options)


async def interrupted(planner: Agent[Any], bridge: Bridge, path: Path) -> None:
    """Begin the task ``t`` in a process that ends while it is on the bridge."""
    async with tasks_of(planner, SqliteStore(path)) as (tasks, _):
        task = await tasks.start(planner, "Oslo?", task_id="t")
        async with anyio.create_task_group() as group:
            group.start_soon(entered_at_the_end, bridge, task)
            await bridge.entered.wait()
            group.cancel_scope.cancel()


async def entered_at_the_end(bridge: Bridge, task: Run) -> None:
    """Wait no longer for a task that has failed on its way to the bridge."""
    await task.settled()
    bridge.entered.set()


async def taken_up(runner: Runner) -> Run:
    await runner.recover()
    return await runner.get("t")


async def test_a_task_is_told_something_while_a_tool_runs(place: Place) -> None:
    bridge = Bridge()
    planner = agent(place, [[CROSS, OSLO], "By train."], bridge.tool(idempotent=False), look)
    async with tasks_of(planner) as (tasks, _):
        task = await tasks.start(planner, "Oslo?", task_id="t")
        await bridge.entered.wait()
        assert await tasks.tell("t", "By train, please.")
        assert await tasks.tell("t", "And by boat.")
        bridge.open.set()
        assert (await task.result())["output"] == "By train."
    assert place.session.asked[-1].results == ["crossed", LOOKED]
    assert "By train, please." in "\n".join(place.session.asked[-1].texts)
    place.check()


async def test_a_task_that_has_failed_with_calls_open_is_followed_up(place: Place) -> None:
    planner = agent(place, [[OSLO, OSLO], "What was that?"], look, budget=Budget(tool_calls=1))
    async with tasks_of(planner) as (tasks, _):
        with pytest.raises(RunFailed):
            await (await tasks.start(planner, "Oslo?", task_id="t")).result()
        task = await tasks.follow_up("t", "And now?")
        assert (await task.result())["output"] == "What was that?"
    assert len(place.session.asked[-1].results) == 2
    place.check()


async def test_a_task_that_has_failed_after_a_result_is_followed_up(place: Place) -> None:
    planner = agent(place, [OSLO, "Fine."], look)
    async with tasks_of(planner) as (tasks, _):
        state = await (await tasks.start(planner, "Oslo?", task_id="t")).result()
        assert state["output"] == "Fine."
        place.check()
        task = await tasks.follow_up("t", "And now?")
        with pytest.raises(RunFailed, match="nothing more to say"):  # the server, and so the provider, fails
            await task.result()
        place.session.extend([OSLO, "Better."])
        task = await tasks.follow_up(task.id, "And now, please?")
        assert (await task.result())["output"] == "Better."
    assert [refused.code for refused in place.session.refusals] == ["script"]


async def test_a_task_that_was_cancelled_at_an_approval_is_followed_up(place: Place) -> None:
    planner = agent(place, [[Call("mail", {"to": "eve"}), OSLO], "Fine."], mail, look)
    async with tasks_of(planner) as (tasks, _):
        await (await tasks.start(planner, "Mail.", task_id="t")).settled()
        assert (await tasks.cancel("t")).status is RunStatus.CANCELLED
        assert (await (await tasks.follow_up("t", "And now?")).result())["output"] == "Fine."
    assert len(place.session.asked[-1].results) == 2
    place.check()


async def test_a_call_is_allowed_after_a_restart(place: Place, tmp_path: Path) -> None:
    script: list[Entry] = [[Call("mail", {"to": "eve"}), OSLO], "Done."]
    planner = agent(place, script, mail, look)
    async with tasks_of(planner, SqliteStore(tmp_path / "runs")) as (tasks, _):
        await (await tasks.start(planner, "Mail.", task_id="t")).settled()
    async with tasks_of(agent(place, None, mail, look), SqliteStore(tmp_path / "runs")) as (tasks, runner):
        task = await taken_up(runner)
        (wanted,) = await tasks.approvals()
        await tasks.decide(wanted.id, Allow(arguments={"to": "bob"}))
        assert (await task.result())["output"] == "Done."
    assert place.session.asked[-1].results == ["sent to bob", LOOKED]
    place.check()


@pytest.mark.parametrize("idempotent", [True, False], ids=["made_again", "told_as_unknown"])
async def test_a_task_goes_on_after_a_restart_in_a_call(place: Place, tmp_path: Path, idempotent: bool) -> None:  # noqa: FBT001  # a table's column
    bridge, again = Bridge(), Bridge(is_open=True)
    script: list[Entry] = [OSLO, Says("I cross.", [CROSS, OSLO]), OSLO, "There."]
    planner = agent(place, script, bridge.tool(idempotent=idempotent), look)
    await interrupted(planner, bridge, tmp_path / "runs")
    planner = agent(place, None, again.tool(idempotent=idempotent), look)
    async with tasks_of(planner, SqliteStore(tmp_path / "runs")) as (_, runner):
        assert (await (await taken_up(runner)).result())["output"] == "There."
    crossed = place.session.asked[-1].results[1]
    assert (crossed == "crossed") is idempotent
    assert idempotent or "interrupted" in crossed
    place.check()


async def test_thinking_is_kept_over_a_restart(place: Place, tmp_path: Path) -> None:
    if place.provider.thinking is None:
        pytest.skip("the provider has no model that shows its thinking")
    bridge, again = Bridge(), Bridge(is_open=True)
    script: list[Entry] = [
        Says(thinking=[Thought("First the sea.")], calls=[OSLO]),
        Says(thinking=[Thought("Then the bridge.")], calls=[CROSS]),
        Says("There.", thinking=[Thought("That is all.")]),
    ]
    planner = agent(place, script, bridge.tool(idempotent=True), look, thinking=True)
    await interrupted(planner, bridge, tmp_path / "runs")
    planner = agent(place, None, again.tool(idempotent=True), look, thinking=True)
    async with tasks_of(planner, SqliteStore(tmp_path / "runs")) as (_, runner):
        assert (await (await taken_up(runner)).result())["output"] == "There."
    if "thinking" in place.provider.takes:
        assert place.session.asked[-1].thoughts == ["First the sea.", "Then the bridge."]
    place.check()


async def test_a_sub_agents_conversation_goes_on_after_a_restart(place: Place, tmp_path: Path) -> None:
    script: Script = {
        "You plan.": [
            Call("message_agent", {"agent_name": "reader", "message": "Of Oslo?"}),
            Call("message_agent", {"conversation_id": "reader-0-0", "message": "More?"}),
            "All is known.",
        ],
        "You read.": ["Cold.", CROSS, "No more."],
    }
    bridge, again = Bridge(), Bridge(is_open=True)

    def lead(script: Script | None, bridge: Bridge) -> Agent[Any]:
        reader = Agent("reader", "You read.", tools=[bridge.tool(idempotent=True)], description="Reads.")
        return agent(place, script, sub_agents=[reader])  # type: ignore[no-any-return]  # agents of any type

    await interrupted(lead(script, bridge), bridge, tmp_path / "runs")
    async with tasks_of(lead(None, again), SqliteStore(tmp_path / "runs")) as (_, runner):
        assert (await (await taken_up(runner)).result())["output"] == "All is known."
    place.check()
    assert "No more." in place.session.asked[-1].results[-1]


async def test_a_conversation_goes_on_after_a_restart(place: Place, tmp_path: Path) -> None:
    script: list[Entry] = [OSLO, "Cold.", OSLO, "Still cold.", "Bye."]
    planner = agent(place, script, look)
    async with (
        tasks_of(planner, SqliteStore(tmp_path / "runs")) as (_, runner),
        converse(runner, planner, id="c") as talk,
    ):
        assert (await talk.send("Oslo?")).output == "Cold."
    planner = agent(place, None, look)
    async with (
        tasks_of(planner, SqliteStore(tmp_path / "runs")) as (_, runner),
        converse(runner, planner, id="c") as talk,
    ):
        assert (await talk.send("And now?")).output == "Still cold."
        assert (await talk.send("Thanks.")).output == "Bye."
    assert place.session.asked[-1].texts == ["Oslo?", "And now?", "Thanks."]
    place.check()


async def test_what_was_remembered_is_recalled_in_another_task(place: Place) -> None:
    memory = Memory(label="customer")
    script: list[Entry] = [
        Says("I note that.", [Call("remember", {"text": "Likes tea."}), Call("recall", {})]),
        "Noted.",
        Call("recall", {"query": "tea"}),
        "Tea.",
    ]
    planner = agent(place, script, memory)
    async with tasks_of(planner) as (tasks, _):
        for request in ("I like tea.", "What do I like?"):
            await (await tasks.start(planner, request, labels={"customer": "7"})).result()
    assert "Likes tea." in place.session.asked[-1].results[-1]
    place.check()
