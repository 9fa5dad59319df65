"""A run is looked at from outside, whether anybody works on it or not."""

import anyio
import pytest
from pydantic import BaseModel
from tests.workflows._words import NOTHING, Counted, Gate, Store, running
from tests.workflows.test_child import starting

from stagepost.checkpoint import MemoryStore, RunNotFound, RunStatus
from stagepost.workflows import (
    Chain,
    IncompatibleCheckpoint,
    Parallel,
    Pattern,
    RunFailed,
    RunnerNotOpen,
    UnknownWorkflow,
    Wait,
    WorkflowNotFound,
)


class Page(BaseModel):
    """A typed value of a state."""

    title: str


async def write(_state: object) -> dict[str, object]:
    return {"page": Page(title="tides")}


async def test_a_parked_run_shows_its_state_its_place_and_what_its_children_wait_for(store: Store) -> None:
    child = Chain("child", [Wait("ask", show=lambda _: "well?")])
    parent = Chain("parent", [write, *starting(child).children.values()], types={"page": Page}, companions=[child])
    async with running(store, parent) as runner:
        await (await runner.start(parent, {"n": 1}, run_id="p")).settled()
        view = await runner.runs.get("p")
        assert (view.id, view.workflow, view.status, view.next) == ("p", "parent", RunStatus.WAITING, "ask")
        assert (view.finished_at, view.error, view.state["n"]) == (None, None, 1)
        assert view.state["page"] == Page(title="tides")
        assert [(wait.id, wait.shown) for wait in view.waits] == [("p.kid/ask", "well?")]


async def test_a_run_that_has_ended_shows_its_end(store: Store) -> None:
    good, bad = Chain("good", [Counted().adds("a")]), Chain("bad", [Counted().adds("a"), Counted().fails("broken")])
    async with running(store, good, bad) as runner:
        await (await runner.start(good, run_id="g")).result()
        with pytest.raises(RunFailed):
            await (await runner.start(bad, run_id="b")).result()
    async with running(store, good, bad) as runner:
        view = await runner.runs.get("g")
        assert (view.status, view.next, view.waits, dict(view.state)) == (
            RunStatus.COMPLETED,
            None,
            (),
            {"path": ["a"]},
        )
        assert view.finished_at is not None
        assert view.finished_at >= view.created_at
        view = await runner.runs.get("b")
        assert (view.status, view.next, dict(view.state)) == (RunStatus.FAILED, "broken", {"path": ["a"]})
        assert "broken is broken" in (view.error or "")


async def test_an_older_run_is_seen_as_one_of_the_newer_version(store: Store) -> None:
    old, new = Chain("work", [Wait("ask")]), Chain("work", [Wait("question")], version=2)
    async with running(store, old) as runner:
        await (await runner.start(old, {"name": "x"}, run_id="r")).settled()

    def upgrade(run: dict[str, object]) -> dict[str, object]:
        frames = run["frames"]
        assert isinstance(frames, dict)
        frames[""] |= {"next": "question", "state": {"title": frames[""]["state"]["name"]}}
        return run

    async with running(store, new, migrations={"work": {1: upgrade}}) as runner:
        view = await runner.runs.get("r")
        assert (view.next, dict(view.state)) == ("question", {"title": "x"})
    async with running(store, new, migrations={"work": {1: lambda _: {}}}) as runner:
        with pytest.raises(IncompatibleCheckpoint):
            await runner.runs.get("r")


async def test_what_cannot_be_seen_is_said(store: Store) -> None:
    work = Chain("work", [NOTHING])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r")).result()
        with pytest.raises(RunNotFound):
            await runner.runs.get("unknown")
    async with running(store) as runner:
        with pytest.raises(UnknownWorkflow):
            await runner.runs.get("r")
    with pytest.raises(RunnerNotOpen):
        await runner.runs.get("r")


async def test_the_newest_version_of_a_workflow_is_found_by_name() -> None:
    class Shop:
        def as_workflow(self) -> Pattern:
            return newest

    newest = Chain("work", [NOTHING], version=10)
    companion = Chain("companion", [NOTHING])
    async with running(MemoryStore(), Chain("work", [NOTHING], companions=[companion]), Shop()) as runner:
        assert runner.workflow("work") is newest
        assert runner.workflow("companion") is companion
        assert (await (await runner.start(Shop())).result()) == {}
        with pytest.raises(WorkflowNotFound, match="knows no workflow 'other'; it knows: companion, work"):
            runner.workflow("other")


async def test_a_run_that_goes_on_shows_what_the_runs_below_it_wait_for(store: Store) -> None:
    gate = Gate("busy")
    child = Chain("child", [Parallel("both", {"ask": Wait("ask", show=lambda _: "well?"), "busy": gate.step})])
    parent, other = starting(child), Chain("other", [Wait("ask")])
    async with running(store, parent, other) as runner:
        for name in ("p-1", "p0", "a"):  # ids next to the run's
            await (await runner.start(other, run_id=name)).settled()
        run = await runner.start(parent, run_id="p")
        await gate.entered.wait()
        while not await runner.waits("p"):
            await anyio.lowlevel.checkpoint()
        view = await runner.runs.get("p")
        assert (view.status, view.is_held, [wait.id for wait in view.waits]) == (
            RunStatus.RUNNING,
            True,
            ["p.kid/both[0]/ask"],
        )
        gate.open.set()
        await run.settled()
        view = await runner.runs.get("p")
        assert (view.status, view.is_held, [wait.id for wait in view.waits]) == (
            RunStatus.WAITING,
            False,
            ["p.kid/both[0]/ask"],
        )
