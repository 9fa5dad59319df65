"""The benchmark runs, with tiny numbers; how fast it is, is for it to say."""

from importlib.util import find_spec

import anyio
import pytest
from anyio import fail_after
from benchmarks.hub.instructions import instructions
from benchmarks.hub.report import report
from benchmarks.hub.scenarios import SCENARIOS, Scenario, timed
from benchmarks.hub.sides import Side, open_hub, open_hub_with_filtered_log, open_peer, open_queue

SIDES = [open_queue, open_hub, open_hub_with_filtered_log]
needs_peer = pytest.mark.skipif(find_spec("autogen_core") is None, reason="autogen-core is not installed")


@pytest.mark.parametrize("side", [*SIDES, pytest.param(open_peer, marks=needs_peer)], ids=lambda side: side.__name__)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scenario_handles_all_it_sends(side: Side, scenario: Scenario) -> None:
    async def measure() -> float:
        with fail_after(20):
            return await timed(side, scenario, 200)

    assert anyio.run(measure) > 0


def test_the_report_has_a_row_for_each_scenario_and_figure() -> None:
    text = report(rounds=1, scale=0.001)
    for scenario in SCENARIOS:
        assert f"| {scenario.name} |" in text
    assert text.count("| registering an agent") == 2
    assert text.count("| a streamed part (") == 1
    assert text.count("| request by a portal") == text.count("| delivery to an agent without a worker") == 1
    assert ("is not installed" in text) == (find_spec("autogen_core") is None)


def test_instructions_are_counted_where_something_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.hub.instructions.which", lambda _: None)
    assert instructions(100) == ["Instructions were not counted: neither `perf` nor `valgrind` can do so here."]
    way = ("sh", "-c", "echo '123,,instructions:u' >&2")
    monkeypatch.setattr("benchmarks.hub.instructions.counter", lambda: way)
    monkeypatch.setattr("benchmarks.hub.instructions.SCENARIOS", SCENARIOS[:1])
    monkeypatch.setattr("benchmarks.hub.instructions._counted", lambda _way, arguments: 1000 + 7 * int(arguments[-1]))
    assert instructions(100)[2:] == ["| one way | 7 | 7 | **1.00** |"]
