"""The runs of a store, as a runner shows them."""

from datetime import timedelta

import pytest
from tests.workflows._words import Counted, Gate, Store, running

from stagepost.checkpoint import Counts, Keep, RunNotEnded, RunNotFound, RunStatus
from stagepost.workflows import Chain, RunFailed, Runner, RunnerNotOpen, Wait

WORK = Chain("work", [Counted().adds("a"), Wait("ask")], version=3)
BAD = Chain("bad", [Counted().fails("charge")])


async def filled(runner: Runner) -> None:
    for number in range(3):
        run = await runner.start(WORK, {"n": number}, run_id=f"w{number}", labels={"customer": str(number % 2)})
        await run.settled()
    with pytest.raises(RunFailed):
        await (await runner.start(BAD, run_id="b", labels={"customer": "1"})).result()


async def test_runs_are_listed_and_counted_by_what_they_are(store: Store) -> None:
    async with running(store, WORK, BAD) as runner:
        await filled(runner)
        assert [run.run_id for run in (await runner.runs.list(labels={"customer": "1"})).items] == ["w1", "b"]
        assert [run.run_id for run in (await runner.runs.list(text="charge broken")).items] == ["b"]
        assert (await runner.runs.list(text="test_run_catalogue")).items == (), "the traceback counts for nothing"
        assert await runner.runs.count() == Counts(4, {})
        assert await runner.runs.count(by="workflow") == Counts(4, {"work": 3, "bad": 1})
        counts = await runner.runs.count(by="status", labels={"customer": "1"})
        assert (counts.total, counts.by[RunStatus.WAITING], counts.by[RunStatus.FAILED]) == (2, 1, 1)
        first = await runner.runs.list(newest_first=True, limit=3)
        rest = await runner.runs.list(newest_first=True, limit=3, after=first.next)
        assert [run.run_id for run in (*first.items, *rest.items)] == ["b", "w2", "w1", "w0"]
        assert (await runner.runs.list(newest_first=True, limit=3, before=rest.previous)).items == first.items


async def test_a_view_shows_what_is_stored_of_a_run(store: Store) -> None:
    async with running(store, WORK, BAD) as runner:
        await (await runner.start(WORK, {"n": 1}, run_id="w", key="k", labels={"customer": "7"}, trace="t")).settled()
        view = await runner.runs.get("w")
        assert (view.version, view.key, view.labels, view.input) == (3, "k", {"customer": "7"}, {"n": 1})
        assert (view.keep, view.trace, view.attempts, view.blocked, view.owner) == (Keep.RESULT, "t", 0, None, None)
        assert view.saved_at.keys() == {""}
        assert timedelta(0) <= view.saved_at[""] - view.created_at < timedelta(hours=1)
        assert (await runner.runs.info("w")).labels == {"customer": "7"}
        gate = Gate("busy")
        held = Chain("held", [gate.step])
    async with running(store, held) as runner:
        run = await runner.start(held, run_id="h")
        await gate.entered.wait()
        view = await runner.runs.get("h")
        assert (view.is_held, view.owner is None, view.blocked) == (True, False, None)
        gate.open.set()
        await run.result()


async def test_a_run_that_nobody_can_go_on_with_shows_why(store: Store) -> None:
    async with running(store, WORK) as runner:
        await (await runner.start(WORK, run_id="w")).settled()
    other = Chain("work", [Counted().adds("a"), Wait("question")], version=3)
    async with running(store, other) as runner:
        assert "ask" in ((await runner.runs.get("w")).blocked or ""), "it is looked at"
        await runner.recover()
        assert "ask" in ((await runner.runs.get("w")).blocked or ""), "recover has noted it"
        await runner.cancel("w")
        assert (await runner.runs.get("w")).blocked is None, "it has ended"


async def test_a_run_is_deleted_once_it_has_ended(store: Store) -> None:
    async with running(store, WORK, BAD) as runner:
        run = await runner.start(WORK, run_id="w", key="k")
        await run.settled()
        with pytest.raises(
            RunNotEnded, match="run 'w' is waiting: only a run that has ended can be deleted; cancel it"
        ):
            await runner.runs.delete("w")
        await runner.cancel("w")
        await runner.runs.delete("w")
        with pytest.raises(RunNotFound):
            await runner.runs.get("w")
        with pytest.raises(RunNotFound):
            await runner.runs.delete("w")
        again = await runner.start(WORK, run_id="w", key="k")
        await again.settled()
        assert await runner.runs.count(by="status", workflow="work") == Counts(
            1, {status.value: int(status is RunStatus.WAITING) for status in RunStatus}
        )
    with pytest.raises(RunnerNotOpen):
        await runner.runs.list()
