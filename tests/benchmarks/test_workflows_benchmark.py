"""The benchmark of workflows runs, with tiny numbers; how fast they are is for it to say."""

from collections.abc import Iterator

import pytest
from benchmarks.workflows import compare, report
from benchmarks.workflows.compare import BARE, OURS, PEERS, Column, Environment, Side, measured
from benchmarks.workflows.measure import in_turns

COLUMNS = [column for columns in report.TABLES.values() for column in columns]
OTHER_PROCESSES = ("restart", "restart without imports")


@pytest.fixture(scope="module")
def where() -> Iterator[Environment]:
    with compare.environment() as (variables, _):
        yield variables


@pytest.mark.parametrize("side", [BARE, OURS], ids=lambda side: side.module)
@pytest.mark.parametrize("measure", [column.measure for column in COLUMNS if column.measure not in OTHER_PROCESSES])
def test_a_side_returns_a_figure_for_each_thing_that_it_does(side: Side, measure: str) -> None:
    assert side.measures[measure](20) > 0


@pytest.mark.parametrize("side", [BARE, OURS], ids=lambda side: side.module)
def test_a_killed_program_announces_the_step_that_was_interrupted_again(side: Side, where: Environment) -> None:
    whole, rest = (measured(side, column, 0, where) for column in COLUMNS if column.measure in OTHER_PROCESSES)
    assert rest > 0
    assert whole > 0


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.measure)
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.module)
def test_a_peer_does_what_it_says_it_can(peer: Side, column: Column, where: Environment) -> None:
    if not peer.is_installed or column.measure not in peer.measures:
        pytest.skip("it is not installed, or cannot do this")
    assert measured(peer, column, 0, where) > 0


def test_where_there_is_a_shim_every_commit_takes_a_millisecond() -> None:
    with compare.environment() as (where, has_shim):
        if not has_shim:
            pytest.skip("no Linux, or no C compiler")
        assert measured(BARE, next(iter(compare.DURABLE)), 0, where) > 0.001


async def test_no_more_are_done_at_once_than_may_be() -> None:
    started: list[int] = []

    async def work() -> None:
        started.append(len(started))

    await in_turns(7, 3, work)
    assert len(started) == 7


def test_the_report_has_a_row_for_each_side_and_says_who_is_not_installed() -> None:
    text = report.report(rounds=1, scale=0, tables={"durable": compare.DURABLE[:1]})
    assert "| durable | 1 run |" in text
    for side in (BARE, OURS, *PEERS[1:]):
        assert f"| {side.label} |" in text
    assert ("not installed" in text) == (not all(peer.is_installed for peer in PEERS))
