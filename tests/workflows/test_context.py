"""What the context tells a step of its run, beside what the features that need it test themselves."""

from typing import Any

import pytest

from stagepost.checkpoint import Limits, MemoryStore
from stagepost.workflows import Chain, Mask, Runner, State, StepContext, step

NOON = 1_800_000_000.0


async def test_a_step_masks_what_others_say_before_it_keeps_it() -> None:
    def ask(_state: State, context: StepContext) -> dict[str, object]:
        return {"said": context.mask("your key is hunter2-hunter2"), "known": bool(context.mask)}

    state = await Chain("work", [ask]).run(secrets={"key": "hunter2-hunter2"})
    assert (state["said"], state["known"]) == ("your key is ***", True)


async def test_a_run_without_secrets_has_a_mask_that_hides_nothing() -> None:
    masks: list[Mask] = []

    def ask(_state: State, context: StepContext) -> None:
        masks.append(context.mask)

    await Chain("work", [ask]).run()
    assert [(bool(mask), mask("hunter2-hunter2")) for mask in masks] == [(False, "hunter2-hunter2")]


async def test_a_step_reads_the_clock_of_its_runner() -> None:
    def note(_state: State, context: StepContext) -> dict[str, float]:
        return {"at": context.clock()}

    work = Chain("work", [note])
    async with MemoryStore() as store, Runner(store, workflows=[work], clock=lambda: NOON) as runner:
        run = await runner.start(work, {})
        assert (await run.result())["at"] == NOON


async def test_a_step_knows_how_large_a_value_may_be() -> None:
    found: list[Limits] = []

    def note(_state: State, context: StepContext) -> None:
        found.append(context.limits)

    work = Chain("work", [note])
    async with MemoryStore(max_value=10_000) as store, Runner(store, workflows=[work]) as runner:
        await (await runner.start(work, {})).result()
    assert [limits.refuse for limits in found] == [10_000]


async def test_a_context_does_not_show_the_run_when_it_is_printed() -> None:
    shown: list[str] = []

    async def note(_state: State, context: StepContext) -> Any:
        shown.append(repr(context))

    await Chain("work", [step("note", note)]).run(deps="the caller's own", secrets={"key": "hunter2-hunter2"})
    assert "the caller's own" not in shown[0]


@pytest.mark.parametrize("name", ["execution", "ledger"])
def test_a_context_has_no_part_of_the_engine(name: str) -> None:
    assert not hasattr(StepContext, name)
