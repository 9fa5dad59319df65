"""Whatever a function of a user does is the failure of the place that calls it, and harms nothing else."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests._turns import LOOPS, turn
from tests.workflows._hostile import ASYNC, ASYNCIO, BUILTIN, ODD, PLACES, SYNC, Hostile, Place, raising
from tests.workflows._words import PATIENCE, Gate, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import (
    Chain,
    LifespanFailed,
    Parallel,
    Pattern,
    PatternError,
    RunCancelled,
    RunFailed,
    Runner,
    StepContext,
    step,
)


@asynccontextmanager
async def bystanding(store: Store, *workflows: Pattern) -> AsyncIterator[Runner]:
    """A runner with another run on it, which has to complete, on a hub."""
    gate = Gate("gate", {"done": True})
    beside = Chain("beside", [gate.step, step("last", lambda _: {"last": True}, inline=True)])
    async with Hub() as hub, running(store, *workflows, beside, hub=hub) as runner:
        other = await runner.start(beside)
        await gate.entered.wait()
        yield runner
        gate.open.set()
        assert dict(await other.result()) == {"done": True, "last": True}


async def fails(store: Store, workflow: Pattern, state: Any, names: str) -> None:
    async with bystanding(store, workflow) as runner:
        run = await runner.start(workflow, state, run_id="bad")
        with pytest.raises(RunFailed, match=names):
            await run.result()
        info = await store.info("bad")
        assert info.status is RunStatus.FAILED
        assert re.search(names, info.error or "")
        with pytest.raises(RunFailed, match=names):
            await (await runner.get("bad")).result()


RAISED = {name: behaviour for name, behaviour in SYNC.items() if name in {*ODD, "argparse", "sys.exit"}}
WORST = ("SystemExit", "GeneratorExit", "CancelledError", "group of cancellations", "no text", "coroutine")


def cases(*some: str) -> list[Any]:
    return [
        pytest.param(place, behaviour, id=f"{where}-{what}")
        for where, place in PLACES.items()
        for what, behaviour in (RAISED if place.takes_any else SYNC).items()
        if not some or what in some
    ]


@pytest.mark.parametrize(("place", "behaviour"), cases(*WORST))
async def test_a_function_of_a_user_fails_its_place_in_a_stored_run(
    store: Store, place: Place, behaviour: Hostile
) -> None:
    await fails(store, place.make(behaviour), place.state, place.names)


def in_turns() -> list[Any]:
    """All cases on one loop, in turns, and the worst on both; the others on both loops are long."""
    worst = {case.id for case in cases(*WORST)}
    return [
        pytest.param(
            *case.values,
            loop,
            id=f"{case.id}-{loop}",
            marks=[] if case.id in worst or turn(number) == loop else [pytest.mark.long],
        )
        for number, case in enumerate(cases())
        for loop in LOOPS
    ]


@pytest.mark.parametrize(("place", "behaviour", "anyio_backend"), in_turns())
async def test_a_function_of_a_user_fails_its_place_in_memory(place: Place, behaviour: Hostile) -> None:
    with fail_after(PATIENCE), pytest.raises(PatternError, match=place.names):
        await place.make(behaviour).run(place.state, hub=Hub())


@pytest.mark.parametrize("make", BUILTIN.values(), ids=BUILTIN.keys())
@pytest.mark.parametrize("inline", [True, False], ids=["inline", "thread"])
async def test_an_error_of_any_class_fails_its_step(make: Callable[[], BaseException], inline: bool) -> None:  # noqa: FBT001  # a parameter of the table
    chain = Chain("chain", [step("bad", raising(make), inline=inline)])
    with fail_after(PATIENCE), pytest.raises(PatternError, match="'bad'"):
        await chain.run()


WAYS: dict[str, Callable[[Callable[..., Awaitable[Any]]], tuple[Pattern, Any, str]]] = {
    "step": lambda f: (Chain("chain", [step("bad", f), step("next", f)]), None, "'bad'"),
    "step with a timeout": lambda f: (Chain("chain", [step("bad", f, timeout=5)]), None, "'bad'"),
    "worker": lambda f: (Parallel("fan", step("bad", f), over="items"), {"items": [1, 2]}, "'fan'"),
    "single worker": lambda f: (Parallel("fan", step("bad", f), over="items", workers=1), {"items": [1]}, "'fan'"),
    "worker's step": lambda f: (
        Parallel("fan", Chain("inner", [step("bad", f)]), over="items"),
        {"items": [1, 2]},
        "'bad'",
    ),
    "branch": lambda f: (Parallel("both", {"a": step("bad", f), "b": step("fine", lambda _: None)}), None, "'a'"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("behaviour", ASYNC.values(), ids=ASYNC.keys())
async def test_a_step_that_leaves_something_behind_fails_and_harms_no_other(
    store: Store, way: Any, behaviour: Callable[..., Awaitable[Any]]
) -> None:
    await fails(store, *way(behaviour))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("behaviour", ASYNCIO.values(), ids=ASYNCIO.keys())
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_step_that_plays_with_tasks_fails_and_harms_no_other(
    tmp_path: Path, way: Any, behaviour: Callable[..., Awaitable[Any]]
) -> None:
    for store in (MemoryStore(), SqliteStore(tmp_path / "runs.db", durability="process")):
        await fails(store, *way(behaviour))


@pytest.mark.parametrize("behaviour", ASYNC.values(), ids=ASYNC.keys())
async def test_in_memory_it_fails_as_well(behaviour: Callable[..., Awaitable[Any]]) -> None:
    for way in WAYS.values():
        workflow, state, names = way(behaviour)
        with fail_after(PATIENCE), pytest.raises(PatternError, match=names):
            await workflow.run(state)


# what is no failure


async def test_a_keyboard_interrupt_is_never_contained_and_its_run_stays_open(store: Store) -> None:
    class Handled(KeyboardInterrupt):
        """As Ctrl-C raises it; of a class of its own, so that pytest does not stop."""

    def interrupted(state: Any) -> None:
        raise BaseExceptionGroup("group", [Handled(), ValueError("beside")])

    work = Chain("work", [step("bad", interrupted, inline=True)])
    with pytest.raises(BaseExceptionGroup) as caught:
        async with running(store, work) as runner:
            await (await runner.start(work, run_id="r1")).result()
    assert caught.value.split(Handled)[0] is not None
    async with store:
        assert (await store.info("r1")).status is RunStatus.RUNNING


async def test_leaving_the_runner_stays_cancellation(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [Parallel("fan", gate.step, over=lambda _: range(3))])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    async with store:
        assert (await store.info("r1")).status is RunStatus.RUNNING


async def test_cancelling_a_run_stays_cancellation(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        await runner.cancel("r1")
        with pytest.raises(RunCancelled):
            await run.result()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("workers", [1, 2])
async def test_cancelling_the_task_of_a_run_in_memory_stays_cancellation(workers: int) -> None:
    gate = Gate()
    fan = Parallel("fan", gate.step, over=lambda _: range(2), workers=workers)
    task = asyncio.get_running_loop().create_task(Chain("work", [fan]).run())
    await gate.entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_a_timeout_of_the_caller_stays_a_timeout() -> None:
    with pytest.raises(TimeoutError), fail_after(0.01):
        await Chain("work", [Gate().step]).run()


async def test_a_run_that_waits_in_a_group_of_tasks_is_parked(store: Store) -> None:
    async def asks(state: Any, context: StepContext) -> dict[str, object]:
        found: list[object] = []

        async def ask() -> None:
            found.append(await context.wait_for_answer("ok"))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
        return {"found": found}

    work = Chain("work", [step("asks", asks, answers=bool)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        (wait,) = await runner.waits()
        await runner.answer(wait.id, True)
        assert dict(await run.result()) == {"found": [True]}


async def test_an_effect_that_exits_is_in_doubt(store: Store) -> None:
    async def pay(state: Any, context: StepContext) -> None:
        await context.once("charge", raising(lambda: SystemExit(2)))

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        await runner.settle("r1", "charge", value=1)
        await run.result()


@asynccontextmanager
async def exits() -> AsyncIterator[None]:
    raise SystemExit(2)
    yield


async def test_a_lifespan_that_exits_fails_whoever_needs_it(store: Store) -> None:
    work = Chain("work", [step("fine", lambda _: None)], lifespan=exits)
    async with bystanding(store, work) as runner:
        with pytest.raises(LifespanFailed, match="SystemExit: 2"):
            await runner.start(work)
    with pytest.raises(LifespanFailed, match="SystemExit: 2"):
        await work.run()


async def test_a_step_that_leaks_is_mended_for_the_steps_after_it(store: Store) -> None:
    leaked: list[bool] = []

    async def leaks_once(state: Any) -> None:
        if not leaked:
            leaked.append(True)
            await ASYNC["deadline"]()

    async def waits(state: Any) -> dict[str, object]:
        await anyio.sleep(0.03)
        return {"waited": True}

    work = Chain("work", [step("leaks", leaks_once), step("waits", waits)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunFailed, match="step 'leaks' left a cancel scope open"):
            await run.result()
        assert (await (await runner.resume("r1")).result())["waited"] is True
