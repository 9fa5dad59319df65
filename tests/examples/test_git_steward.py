"""The agent with a real MCP server, killed while somebody has to answer it."""

import subprocess
from pathlib import Path

import pytest
from offline import scripts
from tests._forks import Forks
from tests._needs import need
from tests.examples.example_process import run_example

from stagepost.agents.testing import LocalServer

need("litellm", "mcp_server_git")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def commits(folder: Path) -> list[str]:
    command = ["git", "-C", str(folder / "repository"), "log", "--format=%s"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


async def test_p7_an_approval_outlives_a_sigkill_and_nothing_is_asked_twice(
    tmp_path: Path, litellm_forks: Forks
) -> None:
    async with LocalServer(scripts.tidy) as server:
        done = run_example(litellm_forks, "git_steward.py", cwd=tmp_path, provider=server.url)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len([line for line in lines if "asks whether it may call git_commit" in line]) == 2
    assert "its process has ended with -9" in done.stdout
    assert lines[-3:] == [
        "  steward: All is committed.",
        "  Note when the tide comes, as was decided",
        "  Begin with notes",
    ]
    assert len(server.requests) == 4


def test_somebody_may_take_their_time_and_say_no(tmp_path: Path, litellm_forks: Forks) -> None:
    asked = run_example(litellm_forks, "git_steward.py", "work", str(tmp_path), cwd=tmp_path)
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "nobody has answered: the process ends, the question stays" in asked.stdout
    denied = run_example(
        litellm_forks, "git_steward.py", "work", str(tmp_path), "--deny", "not on a Friday", cwd=tmp_path
    )
    assert (denied.returncode, denied.stderr) == (0, "")
    assert "I have committed nothing: denied by a person, git_commit was not called: not on a Friday." in denied.stdout
    assert commits(tmp_path) == ["Begin with notes"]
