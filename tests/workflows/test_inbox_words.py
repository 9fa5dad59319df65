"""Whoever says the wrong word to a wait is told the right one."""

from datetime import timedelta

import pytest
from pydantic import BaseModel
from tests.workflows._words import Store, running

from stagepost.checkpoint import CannotStore, EffectNotFound, WaitNotFound
from stagepost.workflows import Chain, Receive, Run, Sleep, State, StepContext, Wait, step


class Verdict(BaseModel):
    ok: bool


async def pay(state: State, context: StepContext) -> None:
    def effect() -> None:
        raise ConnectionError("cut")

    await context.once("charge", effect)


async def parent(state: State, context: StepContext) -> None:
    await context.child(CHILD, "below", {})


CHILD = Chain("child", [Wait("approval")])
WORK = Chain("work", [step("pay", pay)])
ASKING = Chain("asking", [step("pay", pay, answers=Verdict)])


async def parked(run: Run) -> None:
    assert (await run.settled()).value == "waiting"


@pytest.mark.parametrize("value", [{"ok": True}, {"odd": 1}])
@pytest.mark.parametrize("work", [WORK, ASKING], ids=["no answers", "a step that may also ask"])
async def test_an_answer_to_an_effect_in_doubt_names_settle_and_the_key(
    store: Store, work: Chain, value: object
) -> None:
    async with running(store, work) as runner:
        await parked(await runner.start(work, run_id="r1"))
        with pytest.raises(WaitNotFound, match=r"word of effect 'charge': call settle\('r1', 'charge', value=…\) if"):
            await runner.answer("r1/pay", value)


async def test_an_answer_to_a_signal_names_signal(store: Store) -> None:
    work = Chain("work", [Receive("news")])
    async with running(store, work) as runner:
        await parked(await runner.start(work, run_id="r1"))
        with pytest.raises(WaitNotFound, match=r"call signal\('r1', 'news', value\)"):
            await runner.answer("r1/news", 1)


async def test_an_answer_to_a_sleep_says_until_when(store: Store) -> None:
    work = Chain("work", [Sleep("nap", timedelta(days=1))])
    async with running(store, work) as runner:
        await parked(await runner.start(work, run_id="r1"))
        with pytest.raises(WaitNotFound, match=r"it waits for the time, until 20.* UTC"):
            await runner.answer("r1/nap", 1)


async def test_an_answer_to_a_wait_for_a_child_names_the_child(store: Store) -> None:
    work = Chain("work", [parent], companions=[CHILD])
    async with running(store, work) as runner:
        await parked(await runner.start(work, run_id="r1"))
        with pytest.raises(WaitNotFound, match=r"the end of run 'r1\.below': answer what that one waits for"):
            await runner.answer("r1/parent", 1)


@pytest.mark.parametrize("key", ["approval", "other"])
async def test_word_about_a_wait_for_an_answer_names_answer(store: Store, key: str) -> None:
    work = Chain("work", [Wait("approval", expect=Verdict)])
    async with running(store, work) as runner:
        await parked(await runner.start(work, run_id="r1"))
        with pytest.raises(EffectNotFound, match=r"call answer\('r1/approval', value\)"):
            await runner.settle("r1", key, value=1, place="approval")
        with pytest.raises(CannotStore):  # as before: it does wait for an answer, and this is none
            await runner.answer("r1/approval", "neither")


async def test_word_about_another_effect_names_the_one_in_doubt(store: Store) -> None:
    async with running(store, WORK) as runner:
        await parked(await runner.start(WORK, run_id="r1"))
        with pytest.raises(EffectNotFound, match="no effect 'buy' in doubt: in doubt is effect 'charge' at 'pay'"):
            await runner.settle("r1", "buy", value=1)
