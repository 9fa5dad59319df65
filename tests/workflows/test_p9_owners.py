"""Two processes never own one run: the second claim fences the first."""

import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE, Counted, Gate, Store, running, take_away

from stagepost.checkpoint import (
    MemoryStore,
    Owner,
    OwnerExpired,
    OwnershipLost,
    RunNotOpen,
    RunOwned,
    RunStatus,
    Snapshot,
)
from stagepost.workflows import Chain, Parallel, Pattern, Runner, RunNotHeld, Wait


async def test_p9_a_claim_fences_the_run_that_goes_on(store: Store) -> None:
    gate, counted = Gate(updates={"gate": 1}), Counted()
    work = Chain("work", [gate.step, counted.adds("b")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        before = (await store.load("r1")).root
        await take_away(store, "r1")
        gate.open.set()
        with pytest.raises(OwnershipLost, match=r"run 'r1' has another owner \(epoch 2, ours was 1\)"):
            await run.result()
        assert run.status is RunStatus.RUNNING
        assert (await store.load("r1")).root == before
        assert counted.calls == []


async def test_p9_a_claim_fences_every_worker_of_a_fan_out(store: Store) -> None:
    gates, cancelled = [Gate(), Gate()], list[int]()

    async def work_on(item: int) -> int:
        try:
            await gates[item].pass_through(item)
        except anyio.get_cancelled_exc_class():
            cancelled.append(item)
            raise
        return item

    work = Parallel("fan", work_on, over=lambda _: [0, 1], workers=2)
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        for gate in gates:
            await gate.entered.wait()
        before = (await store.load("r1")).items
        await take_away(store, "r1")
        gates[0].open.set()
        with pytest.raises(OwnershipLost):
            await run.result()
        assert cancelled == [1]
        assert (await store.load("r1")).items == before


async def test_p9_a_claim_fences_the_failure_too(store: Store) -> None:
    gate = Gate()

    async def fail(state: object) -> None:
        await gate.pass_through(state)
        raise ValueError("broken")

    work = Chain("work", [fail])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        await take_away(store, "r1")
        gate.open.set()
        with pytest.raises(OwnershipLost):
            await run.result()
        assert (await store.load("r1")).run.status is RunStatus.RUNNING


def two(pattern: bool, slow: Gate, counted: Counted) -> tuple[Pattern, Pattern]:  # noqa: FBT001  # a parameter of the test
    """One workflow twice: in the first process it stands at a gate, in the second it passes."""
    quick = Gate()
    quick.open.set()

    def workflow(gate: Gate) -> Pattern:
        worker = Chain("worker", [gate.step, counted.adds("b")])
        return Parallel("work", worker, over=lambda _: [0]) if pattern else Chain("work", [worker])

    return workflow(slow), workflow(quick)


async def ended(store: Store, run_id: str) -> Snapshot:
    while (snapshot := await store.load(run_id)).run.status.is_open:  # noqa: ASYNC110  # heartbeats go by real time
        await anyio.sleep(0.01)
    return snapshot


@pytest.mark.parametrize("pattern", [False, True], ids=["step", "items"])
async def test_p9_a_run_of_a_living_owner_is_nobody_elses(pattern: bool) -> None:  # noqa: FBT001  # a parameter of the test
    slow, counted, store = Gate(), Counted(), MemoryStore(owners=2)
    old, new = two(pattern, slow, counted)
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[old]) as first, Runner(store, workflows=[new]) as second:
            run = await first.start(old, run_id="r1")
            await slow.entered.wait()
            assert (await second.recover()).resumed == ()
            with pytest.raises(RunOwned, match="r1"):
                await second.resume("r1")
            with pytest.raises(RunNotHeld):
                await (await second.get("r1")).result()
            slow.open.set()
            await run.result()
    assert counted.calls == ["b"]


@pytest.mark.parametrize("pattern", [False, True], ids=["step", "items"])
async def test_p9_what_an_owner_without_a_sign_of_life_has_goes_on_at_another_one(pattern: bool) -> None:  # noqa: FBT001  # a parameter of the test
    slow, counted, store = Gate(), Counted(), MemoryStore(owners=2, ttl=0.4)
    old, new = two(pattern, slow, counted)
    heartbeat = store.heartbeat

    async def beat(owner: Owner) -> bool:
        return True if owner.id == 1 else await heartbeat(owner)

    store.heartbeat = beat  # type: ignore[method-assign]  # the first one's are lost on the way
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[old]) as first, Runner(store, workflows=[new]) as second:
            await second.recover()
            lost = await first.start(old, run_id="r1")
            await slow.entered.wait()
            await ended(store, "r1")
            slow.open.set()
            with pytest.raises((OwnershipLost, OwnerExpired, RunNotOpen)):
                await lost.result()
            assert await (await second.start(new, run_id="r2")).result()
            assert await (await first.get("r1")).settled() is RunStatus.COMPLETED
            assert await (await first.start(old, run_id="r3")).result()  # it has joined again
    assert counted.calls == ["b", "b", "b"]


async def test_p9_what_an_owner_that_leaves_has_goes_on_at_another_one() -> None:
    slow, counted, store = Gate(), Counted(), MemoryStore(owners=2)
    old, new = two(False, slow, counted)
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[new]) as second:
            async with Runner(store, workflows=[old], grace=0) as first:
                await first.start(old, run_id="r1")
                await slow.entered.wait()
            snapshot = await ended(store, "r1")
            assert snapshot.run.status is RunStatus.COMPLETED
            assert (await (await second.get("r1")).result())["path"] == ["b"]
    assert counted.calls == ["b"]


async def test_p9_a_parked_run_goes_on_once_whoever_is_told_first() -> None:
    counted, store = Counted(), MemoryStore(owners=2)
    work = Chain("work", [Wait("ask"), counted.adds("b"), Wait("more"), counted.adds("c")])
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[work]) as first, Runner(store, workflows=[work]) as second:
            for number in range(20):
                await (await first.start(work, run_id=f"r{number}")).settled()
                await second.answer(f"r{number}/ask", 1)
            for number in range(20):
                while not await first.waits(f"r{number}"):  # noqa: ASYNC110  # heartbeats go by real time
                    await anyio.sleep(0.01)
                await first.answer(f"r{number}/more", 1)
            for number in range(20):
                assert (await ended(store, f"r{number}")).run.status is RunStatus.COMPLETED
    assert (counted.calls.count("b"), counted.calls.count("c")) == (20, 20)


async def test_p9_recover_of_one_runner_does_not_disturb_its_own_runs(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        assert (await runner.recover()).resumed == ()
        assert await runner.resume("r1") is run
        gate.open.set()
        await run.result()
