"""A step can have the next one begun with its own commit, whatever else is due."""

import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE, Counted, Gate, Store, running

from stagepost.checkpoint import Commit, MemoryStore
from stagepost.workflows import Chain, RunnerStopped, State, StepContext, step


class Held(MemoryStore):
    """Holds its first commit back, when it is made and nobody knows yet."""

    def __init__(self, gate: Gate) -> None:
        super().__init__()
        self._gate: Gate | None = gate

    async def commit(self, commit: Commit) -> None:
        await super().commit(commit)
        gate, self._gate = self._gate, None
        if gate is not None:
            await gate.pass_through(None)


def three_steps(counted: Counted, told: list[bool], gate: Gate | None = None) -> Chain:
    """A step that has the next one begun, and two that are counted; the gate stands in the first one."""

    async def hasten(state: State, context: StepContext) -> None:
        if gate is not None:
            await gate.pass_through(None)
        told.append(context.go_straight_on())

    return Chain("work", [step("hasten", hasten), counted.adds("a"), counted.adds("b")])


async def opened_behind(gate: Gate, entered: anyio.Event) -> None:
    """Open the gate once whoever was told that it is entered has done what he wanted."""
    await gate.entered.wait()
    entered.set()
    await anyio.wait_all_tasks_blocked()
    gate.open.set()


async def test_a_runner_that_is_left_during_the_commit_begins_the_next_step_and_no_other() -> None:
    gate, entered, counted, told = Gate(), anyio.Event(), Counted(), list[bool]()
    store, work = Held(gate), three_steps(counted, told)
    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(opened_behind, gate, entered)
            async with running(store, work) as runner:
                run = await runner.start(work, run_id="r1")
                await entered.wait()
        with pytest.raises(RunnerStopped):
            await run.result()
        assert (told, counted.calls) == ([True], ["a"])
        async with running(store, work) as runner:
            await runner.recover()
            await (await runner.get("r1")).result()
    assert (told, counted.calls) == ([True], ["a", "b"])


async def test_a_step_of_a_runner_that_is_being_left_is_told_that_the_next_one_is_not_begun(store: Store) -> None:
    gate, entered, counted, told = Gate(), anyio.Event(), Counted(), list[bool]()
    work = three_steps(counted, told, gate)
    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(opened_behind, gate, entered)
            async with running(store, work) as runner:
                await runner.start(work, run_id="r1")
                await entered.wait()
    assert (told, counted.calls) == ([False], [])


async def test_a_run_that_nobody_interrupts_goes_on_as_ever(store: Store) -> None:
    counted, told = Counted(), list[bool]()
    work = three_steps(counted, told)
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).result()
    assert (told, counted.calls) == ([True], ["a", "b"])
