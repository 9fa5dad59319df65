"""Two processes never own one run: the second claim fences the first."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE, Counted, Gate, Store, running, take_away

from stagepost.checkpoint import MemoryStore, OwnershipLost, RunNotOpen, RunStatus
from stagepost.workflows import Chain, Parallel, Pattern, Runner


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


class Shared(MemoryStore):
    """Admits any number of runners, as a store of several processes would."""

    @asynccontextmanager
    async def admit(self, owner: str) -> AsyncIterator[None]:  # noqa: ARG002  # the protocol's signature
        yield


@pytest.mark.parametrize("pattern", [False, True], ids=["step", "items"])
async def test_p9_of_two_runners_the_second_brings_the_run_to_its_end(pattern: bool) -> None:  # noqa: FBT001  # a parameter of the test
    slow, counted, store = Gate(), Counted(), Shared()

    def workflow(gate: Gate) -> Pattern:
        worker = Chain("worker", [gate.step, counted.adds("b")])
        return Parallel("work", worker, over=lambda _: [0]) if pattern else Chain("work", [worker])

    old, quick = workflow(slow), Gate()
    quick.open.set()
    new = workflow(quick)
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[old]) as first, Runner(store, workflows=[new]) as second:
            lost = await first.start(old, run_id="r1")
            await slow.entered.wait()
            (run,) = (await second.recover()).resumed
            result = await run.result()
            slow.open.set()
            with pytest.raises((OwnershipLost, RunNotOpen)):
                await lost.result()
            assert (await store.load("r1")).run.status is RunStatus.COMPLETED
    assert result == ({"work": [{"path": ["b"]}]} if pattern else {"path": ["b"]})
    assert counted.calls == ["b"]


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
