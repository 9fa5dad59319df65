"""What docs/hub.md recommends for notebooks and test fixtures works there. Its other recipes run as snippets."""

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "hub.md").read_text()


CONFIGURATION = "[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_cells_of_a_notebook_share_a_hub() -> None:
    """A kernel runs each cell in a task of its own, in one loop, and shows what its last expression is."""
    names: dict[str, Any] = {}
    shown: list[object] = []

    async def run_cell(cell: str) -> None:
        *body, last = ast.parse(cell).body
        if isinstance(last, ast.Expr):
            last = ast.copy_location(ast.Assign([ast.Name("_", ast.Store())], last.value), last)
        tree = ast.fix_missing_locations(ast.Module([*body, last], []))
        code = compile(tree, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = FunctionType(code, names)()
        if inspect.isawaitable(result):
            await result
        shown.append(names.pop("_", None))

    async def kernel() -> None:
        for cell in blocks("ipython"):
            await asyncio.wait_for(asyncio.create_task(run_cell(cell)), 5)

    asyncio.run(kernel())
    assert shown == [None, None, "hello", None]


def test_fixtures_of_pytest_asyncio_and_anyio_keep_a_hub(tmp_path: Path) -> None:
    (fixtures,) = [block for block in blocks("python") if "pytest_asyncio.fixture" in block]
    (tmp_path / "test_recipe.py").write_text(fixtures)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in done.stdout, done.stdout  # anyio runs its test on both loops
