import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests._needs import need
from tests.agents.mcp._calling import use, use_often

from stagepost.agents import Agent, McpConnections, McpServer, ScriptedModel, call

need("mcp_server_time", "mcp_server_git")


ONCE = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # starting programs takes a second


def make_repository(folder: Path) -> None:
    for words in (["init", "-q"], ["config", "user.email", "a@example.org"], ["config", "user.name", "A"]):
        subprocess.run(["git", *words], cwd=folder, check=True)  # noqa: S607  # whichever git the tests run with
    (folder / "notes.txt").write_text("one\n")


@ONCE
async def test_the_time_server_of_the_package_index() -> None:
    server = McpServer.stdio(sys.executable, "-m", "mcp_server_time", name="time", prefix="time_")
    with anyio.fail_after(30):
        async with McpConnections([server]) as connections:
            tools = await connections.tools()
            assert [made.name for made in tools] == ["time_get_current_time", "time_convert_time"]
            assert all(made.idempotent for made in tools)
            assert '"timezone": "UTC"' in (await use(tools, "time_get_current_time", timezone="UTC")).text
            assert (await use(tools, "time_get_current_time", timezone="Nowhere")).is_error
            many = await use_often(tools, "time_get_current_time", 200, parameter="timezone", value="UTC")
            assert [result for result in many if result.is_error] == []


@ONCE
async def test_the_git_server_of_the_package_index_on_a_repository(tmp_path: Path) -> None:
    make_repository(tmp_path)
    server = McpServer.stdio(
        sys.executable, "-m", "mcp_server_git", "--repository", str(tmp_path), name="git", needs_approval=["git_commit"]
    )
    with anyio.fail_after(60):
        async with McpConnections([server]) as connections:
            tools = await connections.tools()
            assert [made.name for made in tools if made.needs_approval] == ["git_commit"]
            await use(tools, "git_add", repo_path=str(tmp_path), files=["notes.txt"])
            committed = await use(tools, "git_commit", repo_path=str(tmp_path), message="First")
            assert not committed.is_error
            assert "First" in (await use(tools, "git_log", repo_path=str(tmp_path))).text
            agent = Agent(
                "historian",
                prompt="Tell what has happened.",
                model=ScriptedModel([call("git_status", repo_path=str(tmp_path)), "all is committed"]),
                tools=tools,
            )
            answer = await agent.run("Is all committed?")
    assert answer.output == "all is committed"
    assert "working tree clean" in answer.messages[-2].text
