"""The benchmark of agents runs, with tiny numbers; how fast they are is for it to say."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest
from benchmarks.agents import compare, report
from benchmarks.agents.compare import BURST, CALL, IMPORTS, LOOP, Column, Place, Row, Table
from benchmarks.agents.crowd import Ask, Crowd, late
from benchmarks.agents.measure import as_opened, cost
from benchmarks.agents.task import ANSWER, check

SMALL = [table for table in report.TABLES if table is not BURST]  # as the other crowd, only later
SLOW = ("call", "over HTTP")  # ask through litellm, whose import takes seconds in each process
ROWS = [
    pytest.param(
        table,
        row,
        id=f"{row.side} {row.measure}",
        marks=pytest.mark.long if row.side != "bare" and row.measure.endswith(SLOW) else (),
    )
    for table in SMALL
    for row in table.rows
]
ABSENT = Row("nobody", "bare", "loop", "there-is-no-such-package")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with compare.environment() as (where, _):
        yield Place(where, scale=0)


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_a_row_has_the_figures_that_its_table_shows(table: Table, row: Row, place: Place) -> None:
    if place.version(row) is None:
        pytest.skip("it is not installed")
    figures = place.measured(row)
    assert {column.figure for column in table.columns} <= figures.keys()
    if table is IMPORTS:
        assert figures["vendors"] == 0, "litellm and mcp wait until they are used"


def test_what_is_served_late_is_shown_as_late() -> None:
    @asynccontextmanager
    async def serving(seconds: float) -> AsyncIterator[Ask]:
        async def ask(client: str) -> None:
            await anyio.sleep(2 * seconds + 0.05)

        yield ask

    figures = late(serving, Crowd(clients=300, requests=2, within=0.01), scale=0.01)
    assert 0.05 <= figures["p50"] <= figures["p95"] <= figures["max"] < 5


def test_a_task_is_done_as_often_as_it_should_be() -> None:
    done: list[int] = []

    async def task() -> None:
        done.append(len(done))

    figures = cost(as_opened(task), 20, parts=2)
    assert len(done) == 22, "two of them to warm up"
    assert figures["wall"] > 0


def test_who_answers_something_else_is_not_measured() -> None:
    check(ANSWER)
    with pytest.raises(ValueError, match="twenty-two"):
        check("It is twenty-two.")


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    one, two = CALL.rows[0], CALL.rows[1]
    times = {one: [{"cpu": 1.0}, {"cpu": 2.0}, {"cpu": 5.0}], two: [{"cpu": 3.0}, {"cpu": 4.0}, {"cpu": 5.0}]}
    column = Column("÷", "cpu", str, over=one)
    assert column.cell(times, two) == "2.0"
    assert column.cell({two: times[two]}, two) == "", "what is not measured divides nothing"
    assert Column("s", "cpu", str).cell(times, two) == "4.0"


def test_the_report_has_a_row_for_each_side_and_says_who_is_not_installed() -> None:
    table = Table("a turn", [LOOP.rows[0], ABSENT], LOOP.columns)
    text = report.report(rounds=1, scale=0, tables=[table])
    assert "| a turn | processor |" in text
    assert "| bare | " in text
    assert "| nobody (not installed) |" in text
