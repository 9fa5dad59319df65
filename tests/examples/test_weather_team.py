"""The example of the weather team, as its user runs it: follow-ups, approvals, streams, and a kill."""

from pathlib import Path

import pytest
from anyio import fail_after
from tests._forks import Forks
from tests.checkpoint._processes import module
from tests.examples.example_process import run_example


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_the_team_answers_follows_up_and_sends_what_was_approved(forks: Forks, tmp_path: Path) -> None:
    done = run_example(forks, "-m", "weather_team", "--decide", "allow", "--pace", "0", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "In Oslo it is 4 °C and rain today. In Miami it is 29 °C and sun today. The report was sent" in done.stdout
    assert "lead: Sending And tomorrow? to another agent..." in done.stdout
    assert "In Oslo it is 6 °C and rain tomorrow." in done.stdout
    assert done.stdout.count("Sent to Ann") == 1


def test_what_was_denied_is_not_sent(forks: Forks, tmp_path: Path) -> None:
    done = run_example(forks, "-m", "weather_team", "--decide", "deny", "--pace", "0", cwd=tmp_path)
    assert "somebody has said no" in done.stdout
    assert "Sent to" not in done.stdout


def test_other_questions_are_asked(forks: Forks, tmp_path: Path) -> None:
    done = run_example(forks, "-m", "weather_team", "How is it in Rome?", "And in Paris?", "--pace", "0", cwd=tmp_path)
    assert "In Rome it is 22 °C and sun today." in done.stdout


async def test_a_task_that_waits_for_an_approval_outlives_its_process(tmp_path: Path, forks: Forks) -> None:
    store = str(tmp_path / "team.db")
    with fail_after(120):
        async with module("weather_team", "--store", store, "--decide", "ask", "--pace", "0") as process:
            while "waits for an approval" not in await process.line():
                pass
            await process.kill()
    done = run_example(forks, "-m", "weather_team", "--store", store, "--decide", "allow", "--pace", "0", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Sent to Ann") == 1
    again = run_example(forks, "-m", "weather_team", "--store", store, "--pace", "0", cwd=tmp_path)
    assert "The report was sent to Ann" in again.stdout
    assert "Sent to Ann" not in again.stdout
