"""The benchmark of streams runs, with tiny numbers; how fast they are is for it to say."""

from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel
import pytest
from benchmarks.streams import report
from benchmarks.streams.report import ROWS, Row
from benchmarks.streams.stage import Gate, Spent
from benchmarks.streams.turns import WAYS

SMALL = 0.01


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_row_has_its_figure_and_its_floor(row: Row) -> None:
    figures = row.measure(SMALL)
    assert figures.keys() == {"ours", "floor"}
    assert all(figure > 0 for figure in figures.values())


def test_the_report_has_a_line_for_each_row_with_the_ratio_of_each_round() -> None:
    found = iter([{"ours": 6e-6, "floor": 2e-6}, {"ours": 9e-6, "floor": 1e-6}, {"ours": 8e-6, "floor": 2e-6}])
    text = report.report(
        3, 1.0, [Row("a part", "a read", lambda _: next(found), lambda taken: f"{taken * 1e6:.0f} µs", "≤ 7")]
    )
    assert "| a part | 8 µs | 2 µs | a read | 4.00 " in text.splitlines()[-1]


async def test_only_the_steps_of_what_is_awaited_are_counted() -> None:
    spent, other = Spent(), Spent()

    async def short() -> str:
        await anyio.lowlevel.checkpoint()
        return "done"

    async def long() -> None:
        for _ in range(100):
            sum(range(10_000))
            await anyio.lowlevel.checkpoint()

    async def neighbour() -> None:
        await other.on(long())

    async with anyio.create_task_group() as group:
        group.start_soon(neighbour)
        assert await spent.on(short()) == "done"
    assert 0 < spent.seconds < other.seconds


async def test_a_gate_lets_who_waits_in_once_all_have_come() -> None:
    gate = Gate(2)
    gate.come()
    assert gate.last == 0
    gate.come()
    await gate.full(1)
    assert gate.last > 0


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
async def test_the_loop_whose_instructions_are_counted_runs(way: Callable[[int], Awaitable[None]]) -> None:
    await way(3)
