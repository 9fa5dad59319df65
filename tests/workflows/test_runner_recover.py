"""Open runs are taken up where they stand."""

from typing import Any, NoReturn

import pytest
from pydantic import BaseModel
from tests.workflows._words import NOTHING, Counted, Gate, Recorder, Store, leave_at, running

from stagepost.checkpoint import (
    CannotRead,
    MemoryStore,
    Owner,
    RunNotOpen,
    RunStatus,
)
from stagepost.workflows import (
    Ask,
    Chain,
    HubRequired,
    IncompatibleCheckpoint,
    Parallel,
    Pattern,
    RunStarted,
    UnknownWorkflow,
    step,
)


async def test_an_open_run_goes_on_where_it_stands(store: Store) -> None:
    gate, counted, recorder = Gate(), Counted(), Recorder()
    work = Chain("work", [counted.adds("a"), gate.step, counted.adds("b")])
    await leave_at(gate, store, work)
    async with running(store, work, observer=recorder) as runner:
        report = await runner.recover()
        assert ([run.id for run in report.resumed], dict(report.left_open)) == (["r1"], {})
        assert dict(await report.resumed[0].result()) == {"path": ["a", "b"]}
        assert (await runner.recover()).resumed == ()
    assert (counted.calls, gate.calls) == (["a", "b"], 2)
    assert [event.recovered for event in recorder.of(RunStarted)] == [True]


async def test_starting_an_open_run_again_takes_it_up(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    await leave_at(gate, store, work)
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).result()


async def test_recover_leaves_alone_what_this_runner_works_on(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        assert (await runner.recover()).resumed == ()
        gate.open.set()
        await run.result()
        assert (await store.load("r1")).run.epoch == 1


async def test_more_runs_than_one_page_are_recovered(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        for number in range(201):
            await runner.start(work, run_id=f"r{number:03}")
    gate.open.set()
    async with running(store, work) as runner:
        report = await runner.recover()
        assert len(report.resumed) == 201
        for run in report.resumed:
            await run.result()


async def test_runs_that_cannot_go_on_are_left_open_each_time_with_the_reason(store: Store) -> None:
    gate = Gate()
    kinds: list[type[Exception]] = [UnknownWorkflow, UnknownWorkflow, IncompatibleCheckpoint, HubRequired]
    stale: list[Pattern] = [
        Chain("gone", [gate.step]),
        Chain("newer", [gate.step], version=1),
        Chain("changed", [gate.step]),
        Chain("asks", [gate.step]),
    ]
    async with running(store, *stale, grace=0) as runner:
        for workflow in stale:
            await runner.start(workflow, run_id=workflow.name)
    now: list[Pattern] = [
        Chain("newer", [gate.step], version=2),
        Chain("changed", [NOTHING]),
        Chain("asks", [gate.step, Ask("oracle", lambda _: 1)]),
    ]
    async with running(store, *now) as runner:
        for _ in range(2):
            report = await runner.recover()
            assert report.resumed == ()
            assert {name: type(error) for name, error in report.left_open.items()} == dict(
                zip([workflow.name for workflow in stale], kinds, strict=True)
            )
        assert "version 1, which this runner does not know" in str(report.left_open["newer"])
        assert str(report.left_open["changed"]) == (
            "run 'changed' cannot go on in workflow 'changed': it stands at 'gate', which the workflow no longer has "
            "(gone: gate (step); new: nothing (step)); register the old definition beside the new one under its "
            "version, or give the new one another version and the runner a migration (migrations=)"
        )
        assert {run.epoch for run in (await store.find()).items} == {1}  # nobody has claimed them
    gate.open.set()
    async with running(store, *stale) as runner:
        for run in (await runner.recover()).resumed:
            await run.result()


@pytest.mark.parametrize(
    ("now", "place"),
    [
        (lambda _: Chain("work", [step("fan", lambda _: None)]), "fan"),
        (lambda _: Chain("work", [Chain("fan", [NOTHING])]), "fan"),
        (lambda _: Chain("work", [Parallel("fan", Chain("w", [NOTHING]), over="n")]), "fan[0]/gate"),
        (lambda _: Chain("work", [Parallel("fan", NOTHING, over="n")]), "fan[0]/gate"),
    ],
    ids=["another kind", "a chain", "another worker", "a plain worker"],
)
async def test_a_fan_out_that_has_changed_is_incompatible(store: Store, now: Any, place: str) -> None:
    gate = Gate()
    old = Chain("work", [Parallel("fan", Chain("w", [NOTHING, gate.step]), over="n")])
    await leave_at(gate, store, old, {"n": [1]})
    async with running(store, now(gate)) as runner:
        error = (await runner.recover()).left_open["r1"]
        assert isinstance(error, IncompatibleCheckpoint)
        assert (error.place, error.workflow) == (place, "work")


async def test_added_steps_are_compatible(store: Store) -> None:
    gate, counted = Gate(), Counted()
    await leave_at(gate, store, Chain("work", [counted.adds("a"), gate.step]))
    grown = Chain("work", [NOTHING, counted.adds("a"), gate.step, counted.adds("b")])
    async with running(store, grown) as runner:
        assert dict(await (await runner.recover()).resumed[0].result()) == {"path": ["a", "b"]}


async def test_old_versions_go_on_beside_new_ones(store: Store) -> None:
    gate, counted = Gate(), Counted()
    old = Chain("work", [gate.step, counted.adds("old")])
    await leave_at(gate, store, old)
    new = Chain("work", [counted.adds("new")], version=2)
    async with running(store, old, new) as runner:
        assert (await (await runner.recover()).resumed[0].result())["path"] == ["old"]
        assert (await (await runner.start(new)).result())["path"] == ["new"]


async def test_a_state_that_no_longer_fits_its_model_leaves_the_run_open(store: Store) -> None:
    class Old(BaseModel):
        n: int = 0

    class New(BaseModel):
        n: str = ""

    gate = Gate()
    await leave_at(gate, store, Chain("work", [gate.step], state=Old))
    async with running(store, Chain("work", [gate.step], state=New)) as runner:
        error = (await runner.recover()).left_open["r1"]
        assert isinstance(error, IncompatibleCheckpoint)
        assert "its state does not fit any more: a stored value is no New" in str(error)
        assert isinstance(error.__cause__, CannotRead)
    async with running(store, Chain("work", [gate.step], state=Old)) as runner:
        assert await (await runner.recover()).resumed[0].result() == Old()


async def test_a_key_that_no_longer_fits_its_type_leaves_the_run_open(store: Store) -> None:
    class Page(BaseModel):
        number: int

    gate = Gate()
    read = step("read", lambda state: {"n": state["page"].number}, inline=True)
    await leave_at(gate, store, Chain("work", [gate.step, read]), {"page": {"title": "x"}})
    async with running(store, Chain("work", [gate.step, read], types={"page": Page})) as runner:
        error = (await runner.recover()).left_open["r1"]
        assert isinstance(error, IncompatibleCheckpoint)
        assert "a stored value is no Page" in str(error)


async def test_a_run_that_has_ended_meanwhile_is_not_recovered() -> None:
    class Late(MemoryStore):
        """Says of a run that it is open when somebody else has just ended it."""

        async def claim(self, owner: Owner, run_id: str, **options: Any) -> NoReturn:  # noqa: ARG002  # the signature
            raise RunNotOpen(run_id, "completed")

    gate, store = Gate(), Late()
    work = Chain("work", [gate.step])
    await leave_at(gate, store, work)
    async with running(store, work) as runner:
        report = await runner.recover()
        assert (report.resumed, dict(report.left_open)) == ((), {})
        assert (await runner.start(work, run_id="r1")).status is RunStatus.RUNNING
