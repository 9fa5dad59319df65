"""What pytest finds where stagepost is installed."""

import json
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TEST = """
import pytest
from stagepost.agents import Agent, FunctionModel

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
async def test_a_city_is_found(recorded_model):
    agent = Agent("guide", "Help.", model=recorded_model(MODEL))
    assert (await agent.run("Where?")).output == "Rome"
"""


def test_models_are_recorded_and_replayed(pytester: pytest.Pytester) -> None:
    source = TEST.replace("MODEL)", "FunctionModel(lambda request: 'Rome'))")
    pytester.makepyfile(test_city=source)
    options = ("-p", "anyio", "-p", "no:cacheprovider", "-q")
    pytester.inline_run(*options).assertoutcome(failed=1)  # nothing is recorded yet
    pytester.inline_run(*options, "--record-models").assertoutcome(passed=1)
    file = Path(pytester.path) / "recordings" / "test_city" / "test_a_city_is_found.jsonl"
    assert json.loads(file.read_text())["text"] == "Rome"
    pytester.inline_run(*options).assertoutcome(passed=1)
