"""Ending a run for good: wherever it stands, whoever works on it, whatever happens in between."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.workflows._words import PATIENCE, Counted, Gate, Recorder, Store, running

from stagepost.checkpoint import (
    Commit,
    ItemStatus,
    Lease,
    MemoryStore,
    Owner,
    OwnershipLost,
    RunNotFound,
    RunNotOpen,
    RunStatus,
)
from stagepost.workflows import Chain, Parallel, RunCancelled, RunEnded, Runner, State, UnknownWorkflow, Wait, step


async def test_a_run_is_cancelled_in_the_middle_of_a_step_and_stays_so(store: Store) -> None:
    gate, counted, recorder = Gate(), Counted(), Recorder()
    work = Chain("work", [counted.adds("a"), gate.step, counted.adds("b")])
    async with running(store, work, observer=recorder) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        cancelled = await runner.cancel("r1")
        assert (run.status, cancelled.status) == (RunStatus.CANCELLED, RunStatus.CANCELLED)
        with pytest.raises(RunCancelled, match="run 'r1' was cancelled"):
            await run.result()
        assert gate.cancelled
        assert counted.calls == ["a"]
        assert [event.status for event in recorder.of(RunEnded)] == ["cancelled"]
        snapshot = await store.load("r1")
        assert (snapshot.run.status, snapshot.root.next) == (RunStatus.CANCELLED, "gate")
    async with running(store, work) as runner:
        assert (await runner.recover()).resumed == ()
        with pytest.raises(RunCancelled):
            await (await runner.get("r1")).result()
        with pytest.raises(RunCancelled):
            await (await runner.start(work, run_id="r1")).result()
        with pytest.raises(RunNotOpen):
            await runner.resume("r1")


async def test_cancelling_reaches_every_item_and_accounts_for_it(store: Store) -> None:
    entered, reached = anyio.Event(), set[int]()

    async def wait(item: int) -> int:
        if item == 0:
            return item
        reached.add(item)
        if len(reached) == 2:
            entered.set()
        await anyio.sleep_forever()
        return item

    work = Parallel("fan", wait, over="n", workers=2)
    async with running(store, work) as runner:
        await runner.start(work, {"n": [0, 1, 2, 3]}, run_id="r1")
        await entered.wait()
        await runner.cancel("r1")
        statuses = [item.status for item in (await store.load("r1")).items]
    assert statuses == [ItemStatus.OK, ItemStatus.CANCELLED, ItemStatus.CANCELLED, ItemStatus.WAITING]


async def test_a_run_that_nobody_works_on_is_cancelled_too(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    async with running(store) as runner:  # it does not even know the workflow
        with pytest.raises(UnknownWorkflow):
            await (await runner.get("r1")).result()
        assert (await runner.cancel("r1")).status is RunStatus.CANCELLED
    assert gate.calls == 1


async def test_a_wish_that_outlived_its_process_is_fulfilled_at_recovery(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        for run_id in ("r1", "r2"):
            await runner.start(work, run_id=run_id)
        await gate.entered.wait()
    async with store:
        for run_id in ("r1", "r2"):
            await store.cancel(run_id)  # and the process dies
    async with running(store, work) as runner:
        with pytest.raises(RunCancelled):
            await (await runner.start(work, run_id="r1")).result()
        report = await runner.recover()
        assert (report.resumed, report.cancelled) == ((), ("r2",))
        assert (await runner.get("r2")).status is RunStatus.CANCELLED


async def test_a_step_that_is_deaf_is_fenced_and_its_result_is_not_saved(store: Store) -> None:
    entered, released = anyio.Event(), anyio.Event()

    async def deaf(state: State) -> dict[str, bool]:
        entered.set()
        with anyio.CancelScope(shield=True):
            await released.wait()
        return {"late": True}

    work = Chain("work", [deaf])
    async with running(store, work, grace=0) as runner:
        run = await runner.start(work, run_id="r1")
        await entered.wait()
        assert (await runner.cancel("r1")).status is RunStatus.CANCELLED
        with pytest.raises(RunCancelled):
            await run.result()
        released.set()
        await anyio.wait_all_tasks_blocked()
        snapshot = await store.load("r1")
        assert (snapshot.run.status, dict(snapshot.root.state)) == (RunStatus.CANCELLED, {})


class Late(MemoryStore):
    """Cancels the run just before its n-th commit arrives."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.left = number

    async def commit(self, commit: Commit) -> None:
        self.left -= 1
        if self.left == 0:
            await self.cancel(commit.lease.run_id)
        await super().commit(commit)


@pytest.mark.parametrize("number", [1, 2], ids=["step", "failure"])
async def test_a_commit_that_comes_behind_the_wish_ends_the_run(number: int) -> None:
    work = Chain("work", [step("a", lambda _: {"a": 1}, inline=True), step("b", lambda _: 1 / 0, inline=True)])
    store = Late(number)
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunCancelled):
            await run.result()
        assert (await store.load("r1")).run.status is RunStatus.CANCELLED


class Stolen(MemoryStore):
    """Somebody else claims a run just before its end is committed."""

    async def commit(self, commit: Commit) -> None:
        if commit.closing is not None:
            await self.claim(Owner(commit.lease.owner, "thief"), commit.lease.run_id)
        await super().commit(commit)


async def test_an_end_that_somebody_else_is_to_commit_is_left_to_them() -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(Stolen(), work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        await runner.cancel("r1")
        with pytest.raises(OwnershipLost):
            await run.result()


class Contended(MemoryStore):
    """Each claim of a run lets others have their turn before its lease is used."""

    claims = 0

    async def claim(self, owner: Owner, run_id: str, **options: Any) -> Lease:
        self.claims += 1
        lease = await super().claim(owner, run_id, **options)
        if self.claims < 100:
            for _ in range(3):
                await checkpoint()
        return lease


async def test_two_who_end_a_run_at_once_do_not_take_the_lease_from_each_other() -> None:
    work, store = Chain("work", [Wait("ask", expect=str)]), Contended()
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).settled()
        async with anyio.create_task_group() as group:
            group.start_soon(runner.cancel, "r1")
            group.start_soon(runner.cancel, "r1")
        assert (await store.load("r1")).run.status is RunStatus.CANCELLED
        assert store.claims < 10  # once for each of both and the runner; in turns it were a hundred


async def test_what_has_ended_or_never_was_cannot_be_cancelled(store: Store) -> None:
    work = Chain("work", [step("a", lambda _: None, inline=True)])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).result()
        with pytest.raises(RunNotOpen, match="run 'r1' is completed"):
            await runner.cancel("r1")
        with pytest.raises(RunNotFound):
            await runner.cancel("r2")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_wish_is_on_disk_before_the_run_is_touched(tmp_path: Path) -> None:
    seen: list[bool] = []
    store = MemoryStore()
    started = anyio.Event()

    async def look(state: State) -> None:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                seen.append((await store.load("r1")).run.cancelling)

    work = Chain("work", [look])
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[work]) as runner:
            await runner.start(work, run_id="r1")
            await started.wait()
            await runner.cancel("r1")
    assert seen == [True]


async def test_a_cancellation_that_others_write_while_a_run_goes_to_rest_is_not_lost(store: Store) -> None:
    """The store has let it rest, and the runner hears of that after it has heard of the cancellation."""
    work, park = Chain("work", [Wait("ask")]), store.park

    async def rests(lease: Lease, heard: int) -> bool:
        is_resting = await park(lease, heard)
        with anyio.CancelScope(shield=True):
            await store.cancel("r1")
            await anyio.wait_all_tasks_blocked()
        return is_resting

    store.park = rests  # type: ignore[method-assign]  # the answer of the store comes late
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunCancelled):
            await run.result()
        assert (await store.info("r1")).status is RunStatus.CANCELLED
