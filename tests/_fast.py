"""``pytest --fast``: what people run while they write, a part of each layer's tests that is over in a minute.

A module of tests is left out if its text says that it starts processes, asks models by way of litellm or MCP servers,
or measures who is starved. Of the others each test runs on one event loop, with a few cases from all over its table,
and none runs with values of hypothesis. A test that starts a process nevertheless fails, so that none stays unnoticed.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

CASES: Final = 4
_SLOW: Final = re.compile(
    r"\b(subprocess|open_process|run_process|_processes|_?forks|_kills|_mortal|benchmarks"
    r"|LocalServer|_scenes|_server|_watching|_fuzz_play|McpServer\.(stdio|http)|import mcp\w*|from mcp[.\w]*)\b"
    r'|"litellm"'
)
_STARTS: Final = {"subprocess.Popen", "os.posix_spawn", "os.fork"}
_HEAVY: Final = {"litellm", "mcp"}


class TooSlow(AssertionError):
    """A test of ``--fast`` starts a process, or imports what takes seconds.

    Args:
        event: What Python says of it.
    """

    def __init__(self, event: str) -> None:
        super().__init__(f"{event}: tests/_fast.py has to know what says so in the text of this module")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="a part of each layer's tests: no processes, one event loop")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what is slow before it is imported; what Python does not import is no test."""
    if not config.getoption("--fast") or collection_path.suffix != ".py":
        return None
    return True if _SLOW.search(collection_path.read_text()) else None


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave of each table a few cases on one loop."""
    tables = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        tables[item.nodeid.partition("[")[0]].append(item)
    chosen = {item for table in tables.values() for item in _spread([each for each in table if _is_quick(each)])}
    sys.addaudithook(_refuse)  # here: whoever spreads tests over processes does not collect any
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event in _STARTS:
        raise TooSlow(event)
    if event == "import" and arguments[0] in _HEAVY:
        raise TooSlow(f"import of {arguments[0]}")


def _is_quick(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function):
        return True
    is_on_trio = hasattr(item, "callspec") and "trio" in item.callspec.id
    return not (is_on_trio or hasattr(item.obj, "hypothesis") or "seen" in item.fixturenames)  # `seen` wants both loops


def _spread(table: list[pytest.Item]) -> list[pytest.Item]:
    """A few of a table's cases, the first and the last among them."""
    if len(table) <= CASES:
        return table
    return [table[round(number * (len(table) - 1) / (CASES - 1))] for number in range(CASES)]
