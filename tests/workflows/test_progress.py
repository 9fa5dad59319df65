"""Bars on a terminal."""

import io
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest
from rich.console import Console
from tests.workflows._words import NOTHING, Counted, Gate, Store, running
from tests.workflows.test_graph import loop

from stagepost.workflows import Chain, ChainError, ExtraMissing, Parallel, ProgressObserver, Step, step


def screen(*, terminal: bool = True) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=60)


def shown(bars: ProgressObserver) -> list[tuple[str, float, float | None]]:
    return [(task.description, task.completed, task.total) for task in bars._progress.tasks]


class Looking:
    """Steps that note what is on the screen while they run."""

    def __init__(self, bars: ProgressObserver) -> None:
        self.seen: list[list[tuple[str, float, float | None]]] = []
        self.step = step("look", lambda _: self.seen.append(shown(bars)), inline=True)


@contextmanager
def bars_on(console: Console, **options: int) -> Iterator[ProgressObserver]:
    with ProgressObserver(console, **options) as bars:
        yield bars


async def test_a_chain_moves_its_bar_with_each_step_and_leaves_it() -> None:
    with bars_on(screen()) as bars:
        looking = Looking(bars)
        await Chain("work", [NOTHING, looking.step, Counted().adds("a")]).run(observer=bars)
        assert looking.seen == [[("work", 1, 3)]]
        assert shown(bars) == [("work", 3, 3)]


async def test_what_is_inside_is_shown_below_and_goes_when_it_ends() -> None:
    with bars_on(screen()) as bars:
        looking = Looking(bars)
        worker = Chain("worker", [NOTHING, looking.step])
        fan = Parallel("fan", worker, over=lambda _: [1, 2], workers=1)
        fold = Chain.fold("each", lambda _, __: looking.seen.append(shown(bars)), over=lambda _: [1, 2], inline=True)
        await Chain("work", [fan, fold]).run(observer=bars)
        assert looking.seen == [
            [("work", 0, None), ("  fan", 0, 2), ("    fan[0]", 1, 2)],
            [("work", 0, None), ("  fan", 1, 2), ("    fan[1]", 1, 2)],
            [("work", 1, 2), ("  each", 0, 2)],
            [("work", 1, 2), ("  each", 1, 2)],
        ]
        assert shown(bars) == [("work", 2, 2)]


@pytest.mark.parametrize(
    ("workflow", "bar"),
    [
        (Parallel("fan", NOTHING, over=lambda _: [1, 2]), ("fan", 2, 2)),
        (Chain.fold("each", lambda _, __: None, over=lambda _: [1], inline=True), ("each", 1, 1)),
    ],
    ids=["parallel", "fold"],
)
async def test_a_run_of_anything_that_has_parts_leaves_its_bar(
    workflow: Parallel, bar: tuple[str, float, float]
) -> None:
    with bars_on(screen()) as bars:
        await workflow.run(observer=bars)
        assert shown(bars) == [bar]


async def test_a_cycle_does_not_fill_the_screen() -> None:
    with bars_on(screen()) as bars:
        looking = Looking(bars)
        await loop(50, node=Chain("inner", [Counted().adds("a"), looking.step, _count()])).run(observer=bars)
        assert {len(seen) for seen in looking.seen} == {1}
        assert shown(bars) == []


def _count() -> Step:
    return step("count", lambda state: {"n": state.get("n", 0) + 1}, inline=True)


async def test_a_failed_run_leaves_its_bar_where_it_stands() -> None:
    with bars_on(screen()) as bars:
        with pytest.raises(ChainError):
            await Chain("work", [NOTHING, Chain("inner", [Counted().fails("b")])]).run(observer=bars)
        assert shown(bars) == [("work", 1, 2)]


async def test_a_resumed_run_goes_on_with_its_bar(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [NOTHING, Parallel("fan", step("w", _pass(gate)), over="n", workers=1)])
    with bars_on(screen()) as bars:
        async with running(store, work, grace=0, observer=bars) as runner:
            await runner.start(work, {"n": [1, 2]}, run_id="r1")
            await gate.entered.wait()
        gate.open.set()
        async with running(store, work, observer=bars) as runner:
            await (await runner.recover()).resumed[0].result()
        assert shown(bars)[-1] == ("work", 2, 2)


def _pass(gate: Gate) -> Callable[[int], Awaitable[None]]:
    async def work(item: int) -> None:
        if item == 2:
            await gate.pass_through(item)

    return work


async def test_there_are_only_so_many_bars() -> None:
    with bars_on(screen(), most=3) as bars:
        looking = Looking(bars)
        fan = Parallel("fan", Chain("worker", [NOTHING, looking.step]), over=lambda _: range(5), workers=5)
        await Chain("work", [fan]).run(observer=bars)
        assert {len(seen) for seen in looking.seen} <= {2, 3}
        for _ in range(5):
            await Chain("work", [NOTHING]).run(observer=bars)
        assert shown(bars) == [("work", 1, 1)] * 3


async def test_what_is_drawn_names_the_bars() -> None:
    console = screen()
    with bars_on(console) as bars:
        await Chain("bold", [NOTHING]).run(observer=bars)
    assert isinstance(console.file, io.StringIO)
    assert "bold" in console.file.getvalue()
    assert "1/1" in console.file.getvalue()


async def test_where_there_is_no_terminal_nothing_is_drawn() -> None:
    console = screen(terminal=False)
    with bars_on(console) as bars:
        await Chain("work", [NOTHING]).run(observer=bars)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().strip() == ""


def test_what_is_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ExtraMissing, match=r"ProgressObserver needs rich, .* pip install .*\[progress\]"):
        ProgressObserver()


def test_by_default_it_draws_on_standard_error() -> None:
    assert ProgressObserver()._progress.console.stderr
