"""The benchmark runs, with tiny numbers; how fast it is, is for it to say."""

from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from benchmarks import hub as bench

SIDES = [bench.open_queue, bench.open_hub, bench.open_hub_with_filtered_log]
needs_peer = pytest.mark.skipif(find_spec("autogen_core") is None, reason="autogen-core is not installed")


@pytest.mark.parametrize(
    "side", [*SIDES, pytest.param(bench.open_peer, marks=needs_peer)], ids=lambda side: side.__name__
)
@pytest.mark.parametrize("scenario", bench.SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_handles_all_it_sends(side: bench.Side, scenario: bench.Scenario) -> None:
    async def measure() -> float:
        with fail_after(20):
            return await bench.timed(side, scenario, 200)

    assert anyio.run(measure) > 0


def test_the_report_has_a_row_for_each_scenario_and_figure() -> None:
    text = bench.report(rounds=1, scale=0.001)
    for scenario in bench.SCENARIOS:
        assert f"| {scenario.name} |" in text
    assert text.count("| registering an agent") == 2
    assert ("is not installed" in text) == (find_spec("autogen_core") is None)


def test_it_writes_between_the_marks_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n")
    bench.write("new", page)
    assert page.read_text() == f"before\n{bench.BEGIN}\n\nnew\n\n{bench.END}\nafter\n"


def test_the_page_has_the_marks() -> None:
    text = bench.PAGE.read_text()
    assert text.count(bench.BEGIN) == text.count(bench.END) == 1
