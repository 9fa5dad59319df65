"""What docs/agents.md says beside its snippets: its numbers and names are those of the code."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stagepost import agents, checkpoint, workflows
from stagepost.agents import Agent, Approvals, Budget, McpServer, Retries, TaskStatus, converse, models, testing, tool
from stagepost.agents._delegation._messaging import IDLE
from stagepost.agents._tools._tool import TOOL_RETRIES

ROOT = Path(__file__).parents[2]
PROSE = re.sub(r"^```.*?^```\n", "", (ROOT / "docs" / "agents.md").read_text(), flags=re.MULTILINE | re.DOTALL)
SPANS = re.findall(r"`([^`\n]+)`", PROSE)
NAMES = {name for span in SPANS for name in re.findall(r"(?:^|\()([A-Z][a-z]\w+)", span)}
NOT_OURS = {"Pool", "SystemExit", "Args", "ConnectionError", "TimeoutError"}
SERVER = McpServer.memory(object())


def defaults(function: Callable[..., object]) -> dict[str, object]:
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


@pytest.mark.parametrize(
    ("words", "number", "meant"),
    [
        (
            "Budget(turns=20, tool_calls=100, tokens=None, cost=None)",
            Budget(),
            Budget(turns=20, tool_calls=100, tokens=None, cost=None),
        ),
        ("within=timedelta(days=7)", Approvals().within, 7 * 24 * 3600),
        ("five attempts, 1 to 30 s apart", Retries(), Retries(attempts=5, first=1, most=30)),
        ("three attempts, 1 to 10 s apart", TOOL_RETRIES, Retries(attempts=3, first=1, most=10)),
        ("for a call (60 s) and for the connection (30 s)", (SERVER.timeout, SERVER.connect_timeout), (60, 30)),
        ("nobody has written for five minutes", IDLE, 300),
        ("`idle` seconds (300)", defaults(converse)["idle"], 300),
    ],
    ids=["budget", "approvals", "models", "tools", "servers", "conversations of agents", "conversations"],
)
def test_the_numbers_of_the_page_are_those_of_the_code(words: str, number: object, meant: object) -> None:
    assert words in " ".join(PROSE.split())
    assert number == meant


@pytest.mark.parametrize("name", sorted(NAMES - NOT_OURS))
def test_what_the_page_names_is_public(name: str) -> None:
    assert any(hasattr(layer, name) for layer in (agents, models, testing, checkpoint, workflows))


@pytest.mark.parametrize("status", TaskStatus)
def test_each_status_is_explained(status: TaskStatus) -> None:
    assert re.search(rf"^\|[^|]*`{status}`[^|]*\|", PROSE, re.MULTILINE)


@pytest.mark.parametrize(
    ("function", "known"), [(Agent.__init__, {"self", "name"}), (tool, {"function"})], ids=["an agent", "a tool"]
)
def test_each_option_is_explained(function: Callable[..., object], known: set[str]) -> None:
    for name in defaults(function).keys() - known:
        assert f"`{name}=" in PROSE, name
