"""The selection of ``--fast``."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLE = """
import pytest

@pytest.mark.parametrize("number", range(10))
def test_a_table(number, anyio_backend):
    assert number in {0, 3, 6, 9}
    assert anyio_backend == "asyncio"
"""
STARTER = """
import os

def test_starts_a_process():
    os.fork()
"""


def fast(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--fast", f"--confcutdir={ROOT}", f"--rootdir={ROOT}", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\nfrom tests.hub.conftest import *\n")
    return tmp_path


def test_a_table_has_a_few_cases_on_one_loop(folder: Path) -> None:
    (folder / "test_table.py").write_text(TABLE)
    done = fast(folder)
    assert "4 passed, 16 deselected" in done.stdout, done.stdout + done.stderr


def test_a_test_that_starts_a_process_fails(folder: Path) -> None:
    (folder / "test_starter.py").write_text(STARTER)
    done = fast(folder)
    assert done.returncode == 1
    assert "TooSlow: os.fork" in done.stdout


def test_a_module_that_says_so_is_left_out(folder: Path) -> None:
    (folder / "test_process.py").write_text(f"import subprocess\n{TABLE}")
    assert "no tests ran" in fast(folder).stdout
