from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.workflows._words import NOTHING, Counted, Gate, Recorder, Store, running, until

from stagepost.checkpoint import (
    CannotStore,
    Lease,
    MemoryStore,
    NewRun,
    RunInfo,
    RunNotFound,
    RunStatus,
    StoreClosed,
    StoreInUse,
)
from stagepost.hub import InvalidName
from stagepost.workflows import (
    Ask,
    Chain,
    ChainError,
    DefinitionError,
    HubRequired,
    Run,
    RunConflict,
    RunFailed,
    Runner,
    RunnerNotOpen,
    RunNotHeld,
    State,
    StepContext,
    step,
)


async def test_a_run_ends_with_the_state_of_its_last_step(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [counted.adds("a"), counted.adds("b")])
    async with running(store, work) as runner:
        run = await runner.start(work, {"path": ["-"]})
        assert run.workflow == "work"
        assert dict(await run.result()) == {"path": ["-", "a", "b"]}
        assert run.status is RunStatus.COMPLETED


async def test_start_returns_when_the_run_is_stored_and_before_it_ends(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, {"a": 1}, run_id="r1")
        stored = await store.load("r1")
        assert (stored.run.status, stored.run.input, stored.root.next) == (RunStatus.RUNNING, b'{"a":1}', "gate")
        assert run.status is RunStatus.RUNNING
        gate.open.set()
        assert dict(await run.result()) == {"a": 1}


async def test_steps_know_their_run_and_what_the_process_gave(store: Store) -> None:
    async def note(state: State, context: StepContext) -> dict[str, object]:
        return {"seen": [context.run_id, context.path, context.deps]}

    work = Chain("work", [note])
    async with running(store, work, deps="pool") as runner:
        assert (await (await runner.start(work, run_id="r1")).result())["seen"] == ["r1", "note", "pool"]


async def test_a_typed_state_comes_back_as_its_model(store: Store) -> None:
    class Trip(BaseModel):
        place: str = "sea"

    work = Chain("work", [step("go", lambda trip: trip.model_copy(update={"place": "lake"}), inline=True)], state=Trip)
    async with running(store, work) as runner:
        assert await (await runner.start(work, Trip(), run_id="r1")).result() == Trip(place="lake")
        assert await (await runner.get("r1")).result() == Trip(place="lake")


@pytest.mark.parametrize("name", ["run_id", "key"])
async def test_the_same_start_gives_the_same_run(store: Store, name: str) -> None:
    gate, counted = Gate(), Counted()
    identity: dict[str, Any] = {name: "once"}
    work = Chain("work", [counted.adds("a"), gate.step])
    async with running(store, work) as runner:
        first = await runner.start(work, {"n": 1}, **identity)
        await gate.entered.wait()
        again = await runner.start(work, {"n": 1}, **identity)
        assert again is first
        gate.open.set()
        result = await first.result()
        later = await runner.start(work, {"n": 1}, **identity)
        assert (later.id, await later.result()) == (first.id, result)
        assert counted.calls == ["a"]


@pytest.mark.parametrize("name", ["run_id", "key"])
async def test_concurrent_starts_give_one_run(store: Store, name: str) -> None:
    counted = Counted()
    identity: dict[str, Any] = {name: "once"}
    work = Chain("work", [counted.adds("a")])
    runs: list[Run] = []

    async with running(store, work) as runner:

        async def start() -> None:
            run = await runner.start(work, {}, **identity)
            await run.result()
            runs.append(run)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(start)
    assert len({run.id for run in runs}) == 1
    assert counted.calls == ["a"]


async def test_another_input_or_workflow_is_a_conflict(store: Store) -> None:
    work, other = Chain("work", [NOTHING]), Chain("other", [NOTHING])
    async with running(store, work, other) as runner:
        await (await runner.start(work, {"n": 1}, run_id="r1", key="k")).result()
        same: Any
        for same in ({"run_id": "r1"}, {"key": "k"}):
            with pytest.raises(RunConflict, match="run 'r1' exists with another input: give the same one") as caught:
                await runner.start(work, {"n": 2}, **same)
            assert (caught.value.run_id, caught.value.differs) == ("r1", "input")
        with pytest.raises(RunConflict, match=r"another workflow \('work'\)"):
            await runner.start(other, {"n": 1}, run_id="r1")
        assert (await runner.start(other, {"n": 1}, key="k")).id != "r1"  # keys belong to a workflow


async def test_a_failed_run_is_attached_to_as_failed(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [counted.fails("b")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunFailed, match="run 'r1' failed: chain 'work' failed at step 'b': ValueError") as caught:
            await run.result()
        assert isinstance(caught.value.__cause__, Exception)
        again = await runner.start(work, run_id="r1")
        with pytest.raises(RunFailed, match="b is broken") as caught:
            await again.result()
        assert isinstance(caught.value.__cause__, ChainError)
        assert caught.value.error == "chain 'work' failed at step 'b': ValueError: b is broken"
        assert again.status is RunStatus.FAILED
        assert counted.calls == ["b"]


async def test_what_cannot_be_started_is_refused_and_leaves_nothing(store: Store) -> None:
    work, asking = Chain("work", [NOTHING]), Chain("asking", [Ask("oracle", lambda _: 1)])
    async with running(store, work, asking) as runner:
        with pytest.raises(DefinitionError, match="this runner does not know it"):
            await runner.start(Chain("work", [NOTHING]))
        with pytest.raises(HubRequired, match="a step asks agent 'oracle'"):
            await runner.start(asking)
        with pytest.raises(CannotStore, match="day cannot be stored"):
            await runner.start(work, {"day": {1}})
        with pytest.raises(InvalidName, match="run id"):
            await runner.start(work, run_id="a/b")
        assert (await store.find()).items == ()


async def test_get_finds_runs_wherever_they_stand(store: Store) -> None:
    gate = Gate()
    work, broken = Chain("work", [gate.step]), Chain("broken", [Counted().fails("b")])
    async with running(store, work, broken) as runner:
        run = await runner.start(work, run_id="open")
        assert await runner.get("open") is run
        failed = await runner.start(broken, run_id="failed")
        with pytest.raises(RunFailed):
            await failed.result()
        assert (await runner.get("failed")).status is RunStatus.FAILED
        gate.open.set()
        await run.result()
        assert dict(await (await runner.get("open")).result()) == {}
        with pytest.raises(RunNotFound, match="no run 'missing' in this store"):
            await runner.get("missing")


async def test_get_does_not_take_up_an_open_run(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    async with running(store, work) as runner:
        run = await runner.get("r1")
        assert run.status is RunStatus.RUNNING
        with pytest.raises(RunNotHeld, match=r"run 'r1' is open, but this runner does not hold it: call recover\(\)"):
            await run.result()
        assert gate.calls == 1


async def test_giving_up_waiting_does_not_touch_the_run(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work)
        await gate.entered.wait()
        with anyio.move_on_after(0) as scope:
            await run.result()
        assert scope.cancelled_caught
        gate.open.set()
        await run.result()
        assert not gate.cancelled


async def test_giving_up_starting_does_not_touch_the_run(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [counted.adds("a")])
    async with running(store, work) as runner:
        with anyio.move_on_after(0) as scope:
            await runner.start(work, run_id="r1")
        assert scope.cancelled_caught
        assert (await (await runner.start(work, run_id="r1")).result())["path"] == ["a"]
        assert counted.calls == ["a"]


async def test_one_run_failing_leaves_others_alone(store: Store) -> None:
    gate = Gate()
    work, broken = Chain("work", [gate.step]), Chain("broken", [Counted().fails("b")])
    async with running(store, work, broken) as runner:
        good, bad = await runner.start(work), await runner.start(broken)
        with pytest.raises(RunFailed):
            await bad.result()
        gate.open.set()
        await good.result()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio lets nobody raise its cancellations
async def test_a_step_that_awaits_something_cancelled_fails_its_own_run_only() -> None:
    async def broken(state: State) -> None:
        raise anyio.get_cancelled_exc_class()

    gate = Gate()
    good, bad = Chain("good", [gate.step]), Chain("bad", [broken])
    async with running(MemoryStore(), good, bad) as runner:
        run = await runner.start(good)
        with pytest.raises(RunFailed, match="awaited something that was cancelled elsewhere"):
            await (await runner.start(bad)).result()
        gate.open.set()
        await run.result()


async def test_a_runner_works_only_inside_of_its_block(store: Store) -> None:
    work = Chain("work", [NOTHING])
    runner = Runner(store, workflows=[work])
    with pytest.raises(RunnerNotOpen, match=r"use it inside `async with Runner\(…\)`"):
        await runner.start(work)
    with pytest.raises(StoreClosed):
        await runner.__aenter__()
    async with running(store, work) as runner:
        pass
    for call in (lambda: runner.get("r1"), runner.recover, lambda: runner.resume("r1"), lambda: runner.serve(work)):
        with pytest.raises(RunnerNotOpen):
            await call()


async def test_a_store_serves_one_runner(store: Store) -> None:
    async with running(store):
        with pytest.raises(StoreInUse, match="already serves runner"):
            async with Runner(store):
                raise AssertionError
    async with running(store):
        pass  # it is free again


async def test_looking_for_a_run_does_not_wait_for_others_to_be_stored() -> None:
    class Slow(MemoryStore):
        async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
            if run.run_id == "slow":
                await gate.pass_through(None)
            return await super().create(run)

    gate, store, recorder = Gate(), Slow(), Recorder()
    work = Chain("work", [NOTHING])
    async with running(store, work, observer=recorder) as runner, anyio.create_task_group() as group:
        await (await runner.start(work, run_id="done")).result()
        group.start_soon(lambda: runner.start(work, run_id="slow"))
        await gate.entered.wait()
        assert (await runner.get("done")).status is RunStatus.COMPLETED
        gate.open.set()
        await until(lambda: recorder.names.count("RunEnded") == 2)


async def test_a_run_that_is_stored_but_not_yet_begun_is_waited_for() -> None:
    class Reluctant(MemoryStore):
        async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
            created = await super().create(run)
            await gate.pass_through(None)
            return created

    gate, store, found = Gate(), Reluctant(), list[Run]()
    work = Chain("work", [NOTHING])

    async def get() -> None:
        found.append(await runner.get("r1"))

    async with running(store, work) as runner, anyio.create_task_group() as group:
        group.start_soon(lambda: runner.start(work, run_id="r1"))
        await gate.entered.wait()
        group.start_soon(get)
        await anyio.wait_all_tasks_blocked()
        assert found == []
        gate.open.set()
        await until(lambda: bool(found))
        assert dict(await found[0].result()) == {}
