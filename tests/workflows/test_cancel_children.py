"""Cancelling a run cancels the runs that its steps have started, however far down, and no other."""

import anyio
import pytest
from tests.workflows._doors import Door
from tests.workflows._words import NOTHING, Gate, Store, running
from tests.workflows.test_child import starting

from stagepost.checkpoint import RunNotFound, RunNotOpen, RunStatus
from stagepost.workflows import Chain, Parallel, RunCancelled, State, StepContext, Wait, step

FAMILY = ("p", "p.kid", "p.kid.kid")


async def statuses(store: Store, *run_ids: str) -> set[RunStatus]:
    return {(await store.info(run_id)).status for run_id in run_ids}


async def test_a_run_is_cancelled_with_those_that_it_awaits(store: Store) -> None:
    gate = Gate()
    parent = starting(starting(Chain("leaf", [gate.step]), name="child"))
    async with running(store, parent) as runner:
        runs = [await runner.start(parent, run_id=run_id) for run_id in ("p", "p-2")]
        await gate.entered.wait()
        while gate.calls < 2:
            await anyio.lowlevel.checkpoint()
        leaf = await runner.get("p.kid.kid")
        await runner.cancel("p")
        for run in (runs[0], leaf):
            with pytest.raises(RunCancelled):
                await run.result()
        assert await statuses(store, *FAMILY) == {RunStatus.CANCELLED}
        gate.open.set()
        await runs[1].result()


async def test_a_run_is_cancelled_with_those_that_it_is_parked_on(store: Store) -> None:
    child = Chain("child", [Wait("ask")])

    async def each(item: int, context: StepContext) -> None:
        await context.child(child, f"kid-{item}", {})

    parent = Chain("parent", [Parallel("fan", step("each", each), over="items")], companions=[child])
    async with running(store, parent) as runner:
        run = await runner.start(parent, {"items": [0, 1, 2]}, run_id="p")
        await run.settled()
        other = await runner.start(child, run_id="other")
        await other.settled()
        await runner.cancel("p")
        assert await statuses(store, "p", "p.kid-0", "p.kid-1", "p.kid-2") == {RunStatus.CANCELLED}
        assert [wait.run_id for wait in await runner.waits()] == ["other"]
        with pytest.raises(RunNotOpen):
            await runner.cancel("p")


async def test_children_that_have_ended_stay_as_they_are(store: Store) -> None:
    done, gate = Chain("done", [NOTHING]), Gate()

    async def ask(_state: State, context: StepContext) -> None:
        await context.child(done, "done", {})
        await gate.pass_through(None)

    parent = Chain("parent", [ask], companions=[done])
    async with running(store, parent) as runner:
        await runner.start(parent, run_id="p")
        await gate.entered.wait()
        await runner.cancel("p")
        assert await statuses(store, "p.done") == {RunStatus.COMPLETED}


@pytest.mark.parametrize("behind", [True, False], ids=["on disk", "not on disk"])
async def test_a_child_that_is_just_being_stored_is_cancelled_too(store: Store, behind: bool) -> None:  # noqa: FBT001  # a parameter of the test
    gate = Gate()
    parent = starting(Chain("child", [gate.step]))
    async with running(store, parent) as runner, anyio.create_task_group() as group:
        door = Door(store, "create", behind=behind, when=lambda new: new.run_id == "p.kid")
        run = await runner.start(parent, run_id="p")
        await door.reached.wait()
        group.start_soon(runner.cancel, "p")
        with pytest.raises(RunCancelled):
            await run.result()
        await anyio.wait_all_tasks_blocked()  # it waits for the child
        door.open.set()
    async with store:
        assert await statuses(store, "p") == {RunStatus.CANCELLED}
        if behind:
            assert await statuses(store, "p.kid") == {RunStatus.CANCELLED}
        else:  # below a run whose end was requested nothing begins any more
            with pytest.raises(RunNotFound):
                await store.info("p.kid")


async def test_what_a_killed_process_has_not_cancelled_is_cancelled_by_the_next(store: Store) -> None:
    gate = Gate()
    parent = starting(starting(Chain("leaf", [gate.step, Wait("ask")]), name="child"))
    async with running(store, parent, grace=0) as runner:
        await runner.start(parent, run_id="p")
        await gate.entered.wait()
    async with store:
        await store.cancel("p")  # and the process is killed before anything else
    async with running(store, parent) as runner:
        report = await runner.recover()
        assert sorted(report.cancelled) == list(FAMILY)
        assert (report.resumed, report.left_open) == ((), {})
        assert await statuses(store, *FAMILY) == {RunStatus.CANCELLED}
