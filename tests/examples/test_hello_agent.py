"""The smallest agent, as its user runs it."""

import ast
from pathlib import Path

import pytest
from offline import scripts
from tests._forks import Forks
from tests._needs import need
from tests.examples.example_process import ROOT, run_example

from stagepost.agents.testing import LocalServer

need("litellm")

SAID = "In Miami: 30 °C and sunny.\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_it_runs_offline(tmp_path: Path, litellm_forks: Forks) -> None:
    done = run_example(litellm_forks, "hello_agent.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, SAID, "")


async def test_it_runs_unchanged_with_the_model_of_a_provider(tmp_path: Path, litellm_forks: Forks) -> None:
    async with LocalServer(scripts.weather) as server:
        done = run_example(litellm_forks, "hello_agent.py", cwd=tmp_path, provider=server.url)
    assert (done.returncode, done.stdout, done.stderr) == (0, SAID, "")
    assert [request.body["model"] for request in server.requests] == ["local", "local"]


def test_the_agent_is_no_more_than_ten_lines() -> None:
    source = (ROOT / "examples" / "hello_agent.py").read_text()
    nodes = ast.walk(ast.parse(source))
    defined = {node.name: node for node in nodes if isinstance(node, ast.AsyncFunctionDef)}
    lines = [ast.get_source_segment(source, node) for node in defined.values()]
    assert set(defined) == {"get_weather", "main"}
    assert sum(len(text.splitlines()) for text in lines if text is not None) + 1 <= 10  # and the decorator
