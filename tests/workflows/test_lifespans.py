"""What runs need around them is opened once, by the first that needs it, and closed behind them all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest
from tests.workflows._words import NOTHING, Gate, Store, running

from stagepost.checkpoint import MemoryStore, RunNotFound, RunStatus
from stagepost.hub import Hub, HubError
from stagepost.workflows import (
    Chain,
    ChainError,
    Graph,
    LifespanFailed,
    Parallel,
    RunFailed,
    Runner,
    RunnerNotOpen,
    RunnerStopped,
    State,
    StepContext,
    Wait,
    step,
)
from stagepost.workflows._lifespans import open_lifespans


@dataclass(eq=False)
class Line:
    """Something that is opened and closed, by one task."""

    name: str = "line"
    says: list[str] = field(default_factory=list)
    refuses: bool = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        if self.refuses:
            raise ConnectionError("nobody is there")
        async with anyio.create_task_group() as group:  # which only the task that enters it may leave
            self.says.append(f"open {self.name}")
            group.start_soon(anyio.sleep_forever)
            yield self.name
            self.says.append(f"close {self.name}")
            group.cancel_scope.cancel()


def reads(line: Line) -> Any:
    async def read(_state: object, context: StepContext) -> dict[str, object]:
        line.says.append("step")
        return {"read": context.resources}

    return read


def using(line: Line, name: str = "work", **options: Any) -> Chain:
    return Chain(name, [reads(line)], lifespan=line.open, **options)


async def test_a_run_in_memory_finds_what_its_lifespan_gives() -> None:
    line = Line()
    assert (await using(line).run())["read"] == "line"
    assert line.says == ["open line", "step", "close line"]


async def test_a_failure_passes_by_the_lifespan() -> None:
    line = Line()

    async def fail(_state: object) -> None:
        raise ValueError("broken")

    with pytest.raises(ChainError, match="broken"):
        await Chain("work", [fail], lifespan=line.open).run()
    assert line.says == ["open line", "close line"]


async def test_a_lifespan_that_fails_fails_the_run_in_memory() -> None:
    with pytest.raises(
        LifespanFailed, match="'work' needs around its runs could not be opened: ConnectionError: nobod"
    ) as caught:
        await using(Line(refuses=True)).run()
    assert isinstance(caught.value.__cause__, ConnectionError)


async def test_the_outermost_lifespan_counts() -> None:
    line, inner = Line(), Line("inner")
    assert (await Chain("outer", [using(inner)], lifespan=line.open).run())["read"] == "line"
    assert (await Chain("outer", [using(inner)]).run())["read"] is None
    assert inner.says == ["step", "step"]


async def test_a_runner_enters_a_lifespan_once_and_leaves_it_behind_its_runs(store: Store) -> None:
    line = Line()
    first, second = using(line, "first"), Graph("second", lifespan=line.open)
    second.add("read", reads(line))
    second.start("read")
    second.finish("read")
    async with running(store, first, second) as runner:
        assert line.says == []
        for workflow in (first, second, first):
            assert (await (await runner.start(workflow)).result())["read"] == "line"
    assert line.says == ["open line", *["step"] * 3, "close line"]


async def test_it_is_open_as_long_as_a_step_is_under_way() -> None:
    line, gate = Line(), Gate()

    async def read_late(_state: object) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            line.says.append("step ends")

    work = Chain("work", [Parallel("both", {"gate": gate.step, "late": read_late})], lifespan=line.open)
    async with running(MemoryStore(), work, grace=0) as runner:
        await runner.start(work)
        await gate.entered.wait()
    assert line.says == ["open line", "step ends", "close line"]


async def test_different_lifespans_are_entered_each(store: Store) -> None:
    lines = [Line("a"), Line("b")]
    works = [using(line, line.name) for line in lines]
    async with running(store, *works) as runner:
        for work in works:
            assert (await (await runner.start(work)).result())["read"] == work.name
    assert [line.says for line in lines] == [["open a", "step", "close a"], ["open b", "step", "close b"]]


async def test_many_runs_at_once_wait_for_one_lifespan(store: Store) -> None:
    line = Line()
    work = using(line)
    async with running(store, work) as runner, anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(runner.start, work)
    assert line.says.count("open line") == 1


async def test_nothing_is_stored_of_a_run_whose_lifespan_fails(store: Store) -> None:
    line = Line(refuses=True)
    work = using(line)
    async with running(store, work) as runner:
        with pytest.raises(LifespanFailed, match="nobody is there"):
            await runner.start(work, run_id="r")
        with pytest.raises(RunNotFound):
            await store.info("r")
        line.refuses = False
        assert (await (await runner.start(work, run_id="r")).result())["read"] == "line"


async def test_a_run_that_is_recovered_without_its_lifespan_stays_open(store: Store) -> None:
    line, gate = Line(), Gate()
    work = Chain("work", [gate.step, reads(line)], lifespan=line.open)
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r")
        await gate.entered.wait()
    gate.open.set()
    line.refuses = True
    async with running(store, work) as runner:
        report = await runner.recover()
        assert isinstance(report.left_open["r"], LifespanFailed)
        assert (await store.info("r")).status is RunStatus.RUNNING
        with pytest.raises(LifespanFailed):
            await runner.resume("r")
        line.refuses = False
        await runner.recover()
        assert (await (await runner.get("r")).result())["read"] == "line"


async def test_a_run_that_is_woken_finds_it(store: Store) -> None:
    line = Line()
    work = Chain("work", [Wait("ask"), reads(line)], lifespan=line.open)
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r")).settled()
    async with running(store, work) as runner:
        run = await runner.get("r")
        line.refuses = True
        await runner.answer("r/ask", "yes")
        with pytest.raises(LifespanFailed):
            await run.result()
        line.refuses = False
        await runner.recover()
        assert (await (await runner.get("r")).result())["read"] == "line"


async def test_a_lifespan_that_ends_early_is_entered_anew_and_told_at_the_end(store: Store) -> None:
    broken = anyio.Event()
    opened: list[int] = []

    @asynccontextmanager
    async def fragile() -> AsyncIterator[int]:
        async def breaks() -> None:
            await broken.wait()
            raise ConnectionError("the other side is gone")

        opened.append(len(opened))
        async with anyio.create_task_group() as group:
            if len(opened) == 1:
                group.start_soon(breaks)
            yield len(opened)

    async def read(_state: object, context: StepContext) -> dict[str, object]:
        return {"read": context.resources}

    work = Chain("work", [read], lifespan=fragile)

    async def live() -> None:
        async with running(store, work) as runner:
            assert (await (await runner.start(work)).result())["read"] == 1
            broken.set()
            await anyio.wait_all_tasks_blocked()
            assert (await (await runner.start(work)).result())["read"] == 2

    with pytest.raises(ExceptionGroup) as caught:
        await live()
    assert caught.group_contains(ConnectionError, match="the other side is gone")


async def test_several_errors_of_leaving_come_in_a_group() -> None:
    def failing(name: str) -> Any:
        @asynccontextmanager
        async def fails_at_the_end() -> AsyncIterator[None]:
            yield
            raise OSError(name)

        return fails_at_the_end

    works = [Chain(name, [NOTHING], lifespan=failing(name)) for name in "ab"]

    async def live() -> None:
        async with running(MemoryStore(), *works) as runner:
            for work in works:
                await (await runner.start(work)).result()

    with pytest.raises(ExceptionGroup, match="lifespans of workflows") as caught:
        await live()
    assert sorted(map(str, caught.value.exceptions)) == ["a", "b"]


async def test_what_does_not_let_itself_be_closed_is_cancelled() -> None:
    ends: list[str] = []

    @asynccontextmanager
    async def stubborn() -> AsyncIterator[None]:
        yield
        try:
            await anyio.sleep_forever()
        finally:
            ends.append("cancelled")

    work = Chain("work", [NOTHING], lifespan=stubborn)
    async with running(MemoryStore(), work, grace=0) as runner:
        await (await runner.start(work)).result()
    assert ends == ["cancelled"]


async def test_whoever_waits_for_a_lifespan_is_told_that_the_runner_is_left() -> None:
    entering = anyio.Event()

    @asynccontextmanager
    async def slow() -> AsyncIterator[None]:
        entering.set()
        await anyio.sleep_forever()
        yield

    work = Chain("work", [NOTHING], lifespan=slow)
    told: list[str] = []

    async def start(runner: Runner) -> None:
        try:
            await runner.start(work)
        except (RunnerNotOpen, RunnerStopped) as error:
            told.append(str(error))

    async with anyio.create_task_group() as group, running(MemoryStore(), work, grace=0) as runner:
        group.start_soon(start, runner)
        await entering.wait()
    assert len(told) == 1


async def test_serving_enters_it_and_its_companions_at_once() -> None:
    line, other = Line(), Line("other")
    work = using(line, companions=[using(other, "other")])
    async with Hub(grace=0) as hub, running(MemoryStore(), hub=hub) as runner:
        await runner.serve(work)
        assert (line.says, other.says) == (["open line"], ["open other"])
        assert (await hub.request("work", {}, expect=State))["read"] == "line"


async def test_serving_registers_nothing_if_it_cannot_be_entered() -> None:
    line = Line(refuses=True)
    work = using(line)
    async with Hub(grace=0) as hub, running(MemoryStore(), hub=hub) as runner:
        with pytest.raises(LifespanFailed, match="nobody is there"):
            await runner.serve(work)
        with pytest.raises(HubError):
            await hub.request("work", {})
        line.refuses = False
        await runner.serve(using(line))  # the name is free
        assert (await hub.request("work", {}, expect=State))["read"] == "line"


async def test_steps_share_a_memo_that_no_later_run_finds(store: Store) -> None:
    found: list[object] = []

    async def put(_state: object, context: StepContext) -> None:
        found.append(dict(context.memo))
        context.memo["thing"] = object()

    async def take(_state: object, context: StepContext) -> None:
        found.append("thing" in context.memo)

    work = Chain("work", [put, take, Wait("ask"), step("again", take)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await run.settled()
        await runner.answer("r/ask", 1)
        await run.result()
    assert found == [{}, True, False]


async def test_an_error_of_the_body_passes_by_the_lifespans(store: Store) -> None:
    line = Line()
    work = using(line)

    async def live() -> None:
        async with running(store, work) as runner:
            await (await runner.start(work)).result()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await live()
    assert line.says == ["open line", "step", "close line"]


async def test_a_step_that_fails_has_its_lifespan_left_open_for_others(store: Store) -> None:
    line = Line()

    async def fail(_state: object) -> None:
        raise ValueError("broken")

    bad, good = Chain("bad", [fail], lifespan=line.open), using(line)
    async with running(store, bad, good) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(bad)).result()
        assert (await (await runner.start(good)).result())["read"] == "line"
    assert line.says == ["open line", "step", "close line"]


async def test_of_a_group_with_one_error_that_error_is_told() -> None:
    @asynccontextmanager
    async def grouped() -> AsyncIterator[None]:
        async with anyio.create_task_group():
            raise ConnectionError("nobody is there")
        yield

    with pytest.raises(LifespanFailed, match="ConnectionError: nobody is there") as caught:
        await Chain("work", [NOTHING], lifespan=grouped).run()
    assert isinstance(caught.value.__cause__, ConnectionError)


async def test_none_is_entered_once_all_are_left() -> None:
    line = Line()
    async with open_lifespans(1) as lifespans:
        await lifespans.enter("work", line.open)
    with pytest.raises(RunnerNotOpen):
        await lifespans.enter("work", line.open)
    assert line.says == ["open line", "close line"]


HOSTILE: Mapping[str, Callable[[], BaseException]] = {
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": GeneratorExit,
    "CancelledError": asyncio.CancelledError,
    "group": lambda: BaseExceptionGroup("bad", [SystemExit(3), ValueError("bad")]),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
async def test_whatever_a_lifespan_raises_ends_no_runner(store: Store, make: Callable[[], BaseException]) -> None:
    @asynccontextmanager
    async def refuse() -> AsyncIterator[None]:
        raise make()
        yield

    work, other = Chain("work", [NOTHING], lifespan=refuse), Chain("other", [NOTHING])
    async with running(store, work, other) as runner:
        with pytest.raises(LifespanFailed):
            await runner.start(work)
        await (await runner.start(other)).result()


async def test_what_a_lifespan_raises_in_between_is_raised_where_the_runner_is_left(store: Store) -> None:
    @asynccontextmanager
    async def leave() -> AsyncIterator[None]:
        yield
        raise SystemExit(3)

    work = Chain("work", [NOTHING], lifespan=leave)
    with pytest.raises(LifespanFailed, match="SystemExit: 3"):
        async with running(store, work) as runner:
            await (await runner.start(work)).result()
