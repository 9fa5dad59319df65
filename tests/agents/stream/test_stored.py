"""The streams of runs in a file, which were read after each commit."""

from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._weather import look
from tests.agents.stream._recording import Law, Loops, RecordingFile

from stagepost.agents import Agent, AgentTool, Allow, ScriptedModel, Tasks, call, tool
from stagepost.workflows import Runner


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_team_in_a_file(tmp_path: Path) -> None:
    @tool(needs_approval=True)
    def buy(what: str) -> str:
        return f"bought {what}"

    below = Agent(
        "below",
        "Below.",
        model=ScriptedModel([[call("buy", what="x"), call("look", city="Bonn")], "ok"]),
        tools=[buy, look],
    )
    first = [call("ask", request="go"), call("look", city="Rome"), call("buy", what="y")]
    lead = Agent(
        "lead",
        "Lead.",
        model=ScriptedModel([first, call("ask", request="go"), "done"]),
        tools=[look, buy, AgentTool(below, name="ask")],
    )
    with fail_after(60):
        async with RecordingFile(tmp_path / "runs.db", "t") as store, Runner(store, workflows=[lead]) as runner:
            tasks = Tasks(runner)
            run = await tasks.start(lead, "hi", task_id="t")
            while (await run.settled()).is_open:
                for wanted in list(await tasks.approvals())[-1:]:
                    await tasks.decide(wanted.id, Allow(), by="ann")
            await store.keep()
            law = Law(Loops(runner), "t")
            await law.holds_in(store.moments)
    assert [part.type for part in law.parts].count("approval_decided") == 3
    assert law.parts[-1].type == "completed"
