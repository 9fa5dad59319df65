"""Agents that work with real MCP servers, in memory and in a store; one dies under them."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_core import from_json
from tests._needs import need
from tests.agents._ways import Way, both_ways, result_of, started, the_wait, working
from tests.agents._weather import results
from tests.agents.mcp import _programs
from tests.agents.mcp.test_sdk_packages import make_repository
from tests.checkpoint._processes import environment

from stagepost.agents import Agent, Allow, McpServer, ScriptedModel, ScriptEntry, call
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import RunFailed

need("mcp", "mcp_server_time", "mcp_server_git")

FOREIGN = Path(__file__).parent / "_foreign.py"
KILLED = """
import os, sys
from pathlib import Path

import anyio
from stagepost.agents import Agent, McpServer, ScriptedModel, call
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner
from tests.agents._weather import results
from tests.agents.mcp._calling import appear

async def main(foreign, folder):
    server = McpServer.stdio(sys.executable, foreign, "stdio", folder, name="foreign")
    two = [call("hold", name="held"), call("echo", text="beside")]
    model = ScriptedModel([call("pid"), two, call("echo", text="again"), call("die"), "done"])
    agent = Agent("caller", prompt="Call.", model=model, tools=[server])
    workflow = agent.as_workflow()
    async with SqliteStore(Path(folder) / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        run = await runner.start(workflow, workflow.accept("go"), run_id="r")
        with anyio.fail_after(30):
            await appear(Path(folder) / "held")
            state = (await runner.runs.get("r")).state
            os.kill(int(results(list(state["messages"]))[0].text), 9)
            state = await run.result()
    for result in results(list(state["messages"]))[1:]:
        print(result.text)
    print(state["output"])

anyio.run(main, *sys.argv[1:])
"""
LOST = "may or may not have taken effect"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_run_goes_on_where_a_server_is_killed_under_it_and_its_process_ends_cleanly_with_warnings_as_errors(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", KILLED, str(FOREIGN), str(tmp_path)],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
        env=environment(),
    )
    assert (done.stderr, done.returncode) == ("", 0)
    held, beside, again, died, output = done.stdout.splitlines()
    assert (LOST in held, beside, again, LOST in died, output) == (True, "beside", "again", True, "done")


@both_ways
async def test_agent_below_works_with_the_time_server_of_the_package_index(way: Way) -> None:
    server = McpServer.stdio(*_programs.python(), "-m", "mcp_server_time", prefix="time_")
    calls = [call("time_get_current_time", timezone=zone) for zone in ("UTC", "Nowhere")]
    clock = Agent("clock", prompt="Tell the time.", model=ScriptedModel([calls, "noon"]), servers=[server])
    model = ScriptedModel([call("message_agent", agent_name="clock", message="?"), "it is noon"])
    lead = Agent("lead", prompt="Lead.", model=model, sub_agents=[clock])
    result = await way(lead)
    assert (result.output, from_json(results(result)[0].text)["response"]) == ("it is noon", "noon")
    asked = clock.model
    assert isinstance(asked, ScriptedModel)
    right, wrong = results(list(asked.requests[-1].messages))
    assert ('"timezone": "UTC"' in right.text, right.is_error, wrong.is_error) == (True, False, True)


async def test_commit_by_the_git_server_waits_for_a_person_over_a_restart_and_is_made_once(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    make_repository(repository)
    place = {"repo_path": str(repository)}

    def author() -> Agent[str]:
        server = McpServer.stdio(
            *_programs.python(), "-m", "mcp_server_git", "--repository", str(repository), needs_approval=["git_commit"]
        )
        script: list[ScriptEntry] = [
            call("git_add", **place, files=["notes.txt"]),
            [call("git_commit", **place, message="First"), call("git_status", **place)],
            call("git_log", **place),
            "written",
        ]
        return Agent("author", prompt="Write.", model=ScriptedModel(script), servers=[server])

    async with SqliteStore(tmp_path / "runs.db") as store:
        first = author()
        async with working(first, store=store) as runner:
            await the_wait(runner, await started(runner, first))
        second = author()
        async with working(second, store=store) as runner:
            await runner.recover()
            run = await runner.get("r")
            wait = await the_wait(runner, run)
            assert (wait.shown["tool"], wait.shown["arguments"]["message"]) == ("git_commit", "First")
            await runner.answer(wait.id, Allow(arguments={**place, "message": "Second thoughts"}))
            result = await result_of(run, second)
    log = results(result)[-1].text
    assert (log.count("Commit:"), "Second thoughts" in log) == (1, True)
    assert result.output == "written"


async def test_call_of_a_server_that_is_gone_behind_a_restart_is_told_of(tmp_path: Path) -> None:
    def caller(server: McpServer) -> Agent[str]:
        return Agent("caller", prompt="Call.", model=ScriptedModel([call("echo", text="hi"), "gone"]), tools=[server])

    here = caller(McpServer.stdio(*_programs.python(), str(FOREIGN), "stdio", str(tmp_path), needs_approval=["echo"]))
    gone = caller(McpServer.stdio("no-such-program", needs_approval=["echo"]))
    async with SqliteStore(tmp_path / "runs.db") as store:
        async with working(here, store=store) as runner:
            wait = await the_wait(runner, await started(runner, here))
        async with working(gone, store=store) as runner:
            await runner.answer(wait.id, Allow())
            run = await runner.get(wait.run_id)
            with pytest.raises(RunFailed, match="no program 'no-such-program'"):
                await run.result()
            (result,) = results(list((await runner.runs.get(run.id)).state["messages"]))
    assert result.is_error
    assert result.text.startswith("nothing was called: MCP server")
