"""The example of a model of one's own, as its user runs it."""

from pathlib import Path

from tests._forks import Forks
from tests.examples.example_process import run_example


def test_the_example_asks_again_and_answers(forks: Forks, tmp_path: Path) -> None:
    done = run_example(forks, "own_model.py", cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout.splitlines()[-2:] == ["There are two boats at Bergen.", "asked 3 times, turns: 2"]
