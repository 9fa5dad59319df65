"""Whether a stored run fits is looked at closely only where something may have changed."""

from typing import Any

import pytest
from pydantic import BaseModel, field_validator
from tests.workflows._words import NOTHING, Store, running

from stagepost.checkpoint import RunStatus, WaitStatus
from stagepost.workflows import Chain, Inbox, IncompatibleCheckpoint, Wait, step
from stagepost.workflows._runs._fitness import Fitness
from stagepost.workflows._runs._registry import Registry
from stagepost.workflows._values._secrets import Secrets


def counted() -> tuple[type[BaseModel], list[int]]:
    """A type, and what it has read."""
    found: list[int] = []

    class Seen(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def _note(cls, number: int) -> int:
            found.append(number)
            return number

    return Seen, found


def waiting(kind: type[BaseModel]) -> Chain:
    return Chain(
        "work", [step("see", lambda _: {"seen": kind(number=1)}, inline=True), Wait("go")], types={"seen": kind}
    )


async def test_a_run_that_rests_as_its_process_has_left_it_is_not_read_to_see_whether_it_fits(store: Store) -> None:
    kind, found = counted()
    async with running(store, work := waiting(kind)) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        found.clear()
        await runner.answer("r1/go", "yes")
        assert (await run.result())["go"] == "yes"
        assert found == []


async def test_a_run_that_another_process_has_left_is_read_to_see_whether_it_fits(store: Store) -> None:
    kind, found = counted()
    async with running(store, work := waiting(kind)) as runner:
        await (await runner.start(work, run_id="r1")).settled()
    async with running(store, work) as runner:
        run = await runner.get("r1")
        found.clear()
        await runner.answer("r1/go", "yes")
        assert (await run.result())["go"] == "yes"
        assert set(found) == {1}


@pytest.mark.parametrize("field", ["epoch", "created_at"])
async def test_a_run_that_somebody_has_claimed_or_begun_since_is_not_as_it_was_left(store: Store, field: str) -> None:
    kind, _ = counted()
    fitness = Fitness(Registry([work := waiting(kind)]), None, Secrets())
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).settled()
        info = await store.info("r1")
    fitness.note_parked(info, info.epoch, work)
    assert fitness.is_known(info)
    other: Any = {"epoch": info.epoch + 1, "created_at": info.created_at.replace(year=2000)}[field]
    assert not fitness.is_known(info._replace(**{field: other}))


async def test_of_runs_that_rest_the_latest_are_remembered(store: Store) -> None:
    kind, _ = counted()
    fitness = Fitness(Registry([work := waiting(kind)]), None, Secrets(), remembered=1)
    async with running(store, work) as runner:
        for run_id in ("r1", "r2"):
            await (await runner.start(work, run_id=run_id)).settled()
            info = await store.info(run_id)
            fitness.note_parked(info, info.epoch, work)
        assert [fitness.is_known(await store.info(run_id)) for run_id in ("r1", "r2")] == [False, True]


class Number(BaseModel):
    number: int


class Word(BaseModel):
    word: str


async def test_an_answer_that_other_code_has_checked_and_nobody_can_read_leaves_the_run_open(store: Store) -> None:
    work, other = (Chain("work", [Wait("ask", expect=kind), NOTHING]) for kind in (Number, Word))
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        await Inbox(store, workflows=[other]).answer("r1/ask", {"word": "no number"})
        with pytest.raises(IncompatibleCheckpoint, match="its state does not fit any more"):
            await run.result()
        snapshot = await store.load("r1")
        assert snapshot.run.status is RunStatus.RUNNING
        assert snapshot.run.blocked is not None
        assert [wait.status for wait in snapshot.waits] == [WaitStatus.ANSWERED]
