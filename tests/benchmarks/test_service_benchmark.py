"""What the service is to cost as a process of its own, measured as ``python -m benchmarks.service`` does."""

from pathlib import Path

import anyio
import pytest
from tests._needs import need

need("uvicorn", "starlette", "sse_starlette", "limits", "jinja2", "typer")

from benchmarks.service.measure import start, streams  # noqa: E402  # after the check


@pytest.mark.long
def test_five_hundred_open_streams_cost_little_and_do_not_keep_the_process_from_its_end(tmp_path: Path) -> None:
    found = anyio.run(streams, tmp_path)
    assert found["memory"] <= 100_000_000
    assert found["idle"] - found["idle bare"] < 0.05  # of a processor, while nothing happens; 0.01 is what is wanted
    assert found["end"] < 13.0  # seconds: the grace of 10, which nothing needs, and 3


@pytest.mark.long
def test_a_thousand_open_runs_hold_up_a_start_for_a_moment(tmp_path: Path) -> None:
    full, bare = anyio.run(start, tmp_path, 1_000), anyio.run(start, tmp_path, 0)
    assert full - bare < 5.0  # seconds, where tenths are expected
