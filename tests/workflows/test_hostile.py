"""Whatever a function of a user does is the failure of the place that calls it, and harms nothing else."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from tests.workflows._hostile import ASYNC, ASYNCIO, BUILTIN, ODD, PLACES, SYNC, Hostile, Place, raising
from tests.workflows._words import PATIENCE, Gate, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus, SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import Chain, Parallel, Pattern, PatternError, RunFailed, Runner, step


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
CASES = [
    pytest.param(place, behaviour, id=f"{where}-{what}")
    for where, place in PLACES.items()
    for what, behaviour in (RAISED if place.takes_any else SYNC).items()
]


@pytest.mark.parametrize(("place", "behaviour"), CASES)
async def test_a_function_of_a_user_fails_its_place_in_a_stored_run(
    store: Store, place: Place, behaviour: Hostile
) -> None:
    await fails(store, place.make(behaviour), place.state, place.names)


@pytest.mark.parametrize(("place", "behaviour"), CASES)
async def test_a_function_of_a_user_fails_its_place_in_memory(place: Place, behaviour: Hostile) -> None:
    with fail_after(PATIENCE), pytest.raises(PatternError, match=place.names):
        await place.make(behaviour).run(place.state, hub=Hub())


@pytest.mark.parametrize("make", BUILTIN.values(), ids=BUILTIN.keys())
@pytest.mark.parametrize("inline", [True, False], ids=["inline", "thread"])
async def test_an_error_of_any_class_fails_its_step(make: Callable[[], BaseException], inline: bool) -> None:
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
