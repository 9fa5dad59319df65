"""The team of agents, as its user runs it."""

from collections import Counter
from pathlib import Path

import pytest
from offline import scripts
from tests._forks import Forks
from tests._needs import need
from tests.examples.example_process import run_example

from stagepost.agents.testing import LocalServer, ServerRequest, Status

need("litellm")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_it_shows_its_conversations(tmp_path: Path, litellm_forks: Forks) -> None:
    done = run_example(litellm_forks, "research_team.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third = done.stdout.split("╭─ ")[1:]
    assert first.index('Where is "SIGKILL" spoken of?') < first.index('And "recover"?')
    assert "power cut" not in first.partition("durability.md")[0]
    assert 'Where is "power cut" spoken of?' in second
    assert "It leaves open" in third
    assert "What my team has found:" in done.stdout


async def test_what_was_answered_is_not_asked_for_again(tmp_path: Path, litellm_forks: Forks) -> None:
    command = ["research_team.py", "What of crashes?", "--store", "runs.db"]
    async with LocalServer(scripts.research) as server:
        first = run_example(litellm_forks, *command, cwd=tmp_path, provider=server.url)
        asked = Counter(map(who, server.requests))
        second = run_example(litellm_forks, *command, cwd=tmp_path, provider=server.url)
    assert (first.returncode, first.stderr) == (0, "")
    assert second.stdout == first.stdout
    assert Counter(map(who, server.requests)) == asked == {"lead": 3, "reader": 6, "critic": 1}


async def test_a_provider_that_refuses_gets_one_clear_sentence(tmp_path: Path, litellm_forks: Forks) -> None:
    async with LocalServer(lambda _request: Status(401, message="who are you?")) as server:
        done = run_example(litellm_forks, "research_team.py", cwd=tmp_path, provider=server.url)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("research team: run ")
    assert "who are you?" in done.stderr
    assert done.stderr.count("\n") == 1


def who(request: ServerRequest) -> str:
    names = {tool["function"]["name"] for tool in request.body.get("tools", ())}
    return "lead" if "message_agent" in names else "reader" if "search" in names else "critic"
