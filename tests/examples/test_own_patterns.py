"""The example of patterns of one's own, as its user runs it, killed with SIGKILL."""

from pathlib import Path

import pytest
from own_patterns.parcel import ROUNDS
from tests._forks import Forks
from tests.examples.example_process import run_example

SAID = [
    "swift takes the parcel",
    *(f"the parcel is at stop {stop}" for stop in range(1, ROUNDS + 1)),
    "thank you, swift",
]


def test_the_example_draws_its_patterns_and_goes_on_after_it_was_killed(forks: Forks, tmp_path: Path) -> None:
    done = run_example(forks, "-m", "own_patterns", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the first process has ended with -9" in done.stdout
    assert "the second process has ended with 0" in done.stdout
    assert done.stdout.splitlines()[-len(SAID) :] == SAID
    assert 'subgraph n1["first"]' in done.stdout
    assert '|"again"|' in done.stdout


@pytest.mark.parametrize("die_in", [2, 3, 4])
def test_p7_a_killed_parcel_goes_on_where_it_was(forks: Forks, die_in: int, tmp_path: Path) -> None:
    first = run_example(forks, "-m", "own_patterns.work", str(tmp_path), "--die-in", str(die_in), cwd=tmp_path)
    assert first.returncode == -9
    assert (tmp_path / "said.log").read_text().splitlines() == SAID[:die_in]
    second = run_example(forks, "-m", "own_patterns.work", str(tmp_path), cwd=tmp_path)
    assert (second.returncode, second.stderr) == (0, "")
    assert (tmp_path / "said.log").read_text().splitlines() == SAID
