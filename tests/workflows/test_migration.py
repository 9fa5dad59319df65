"""Runs whose workflow has changed since the crash: told what is gone, or brought to the new version."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any

import pytest
from tests.workflows._words import Counted, Gate, Store, leave_at, running

from stagepost.checkpoint import RunStatus
from stagepost.workflows import Append, Chain, IncompatibleCheckpoint, Parallel, State, Step, Wait, step

LOG: Mapping[str, Any] = {"log": Annotated[list[Any], Append]}


def logs(name: str) -> Step:
    return step(name, lambda _: {"log": [name], "big": "x" * 5000}, inline=True)


def renamed(run: dict[str, Any]) -> dict[str, Any]:
    """Step ``gate`` is called ``door`` now, and key ``topic`` became ``subject``."""
    root = run["frames"][""]
    root["next"] = root["next"].replace("gate", "door")
    root["state"]["subject"] = root["state"].pop("topic")
    return run


async def test_what_is_gone_new_and_changed_is_named(store: Store) -> None:
    gate = Gate()
    await leave_at(gate, store, Chain("work", [logs("a"), gate.step, logs("b")]), {"n": [1]})
    now = Chain("work", [logs("a"), logs("c"), Parallel("b", step("w", lambda item: item), over="n")])
    async with running(store, now) as runner:
        error = (await runner.recover()).left_open["r1"]
    assert isinstance(error, IncompatibleCheckpoint)
    assert "it stands at 'gate', which the workflow no longer has" in str(error)
    assert "(gone: gate (step); new: c (step); another kind: b (step, now parallel))" in str(error)


async def test_a_run_goes_on_in_the_new_version(store: Store) -> None:
    gate = Gate()
    old = Chain("work", [logs("a"), gate.step], types=LOG)
    await leave_at(gate, store, old, {"topic": "tides"})
    counted = Counted()
    new = Chain("work", [logs("a"), counted.adds("door"), logs("b")], types=LOG, version=2)
    async with running(store, new, migrations={"work": {1: renamed}}) as runner:
        (run,) = (await runner.recover()).resumed
        result = await run.result()
    assert counted.calls == ["door"]
    assert (result["subject"], result["log"], "topic" in result) == ("tides", ["a", "b"], False)
    async with store:
        snapshot = await store.load("r1")
    assert (snapshot.run.version, snapshot.run.status) == (2, RunStatus.COMPLETED)


async def test_migrations_follow_each_other(store: Store) -> None:
    gate = Gate()
    await leave_at(gate, store, Chain("work", [gate.step]), {"topic": "tides"})

    def again(run: dict[str, Any]) -> dict[str, Any]:
        run["frames"][""]["state"]["subject"] += "!"
        return run

    new = Chain("work", [step("door", lambda _: None)], version=3)
    async with running(store, new, migrations={"work": {1: renamed, 2: again}}) as runner:
        (run,) = (await runner.recover()).resumed
        assert (await run.result())["subject"] == "tides!"


async def test_items_are_migrated_too(store: Store) -> None:
    gate = Gate()

    async def work_on(item: int) -> int:
        if item == 2:
            await gate.pass_through(None)
        return item * 10

    old = Chain("work", [Parallel("fan", step("w", work_on), over="n", workers=1)])
    await leave_at(gate, store, old, {"n": [1, 2, 3]})

    def to_text(run: dict[str, Any]) -> dict[str, Any]:
        for item in run["items"]:
            item["input"] = str(item["input"])
            item["value"] = None if item["value"] is None else str(item["value"])
        return run

    new = Chain("work", [Parallel("fan", step("w", lambda item: item * 2), over="n")], version=2)
    async with running(store, new, migrations={"work": {1: to_text}}) as runner:
        await runner.recover()
        assert (await (await runner.get("r1")).result())["fan"] == ["10", "22", "33"]


async def test_a_parked_run_is_migrated_by_recover(store: Store) -> None:
    old = Chain("work", [Wait("ask", expect=bool), Wait("more", expect=bool)])
    async with running(store, old) as runner:
        await (await runner.start(old, run_id="r1")).settled()

    def move(run: dict[str, Any]) -> dict[str, Any]:
        run["frames"][""]["next"] = "approve"
        return run

    new = Chain("work", [Wait("approve", expect=int, within=timedelta(days=1))], version=2)
    async with running(store, new, migrations={"work": {1: move}}) as runner:
        (run,) = (await runner.recover()).resumed
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("r1/approve",)
        await runner.answer("r1/approve", 7)
        assert (await run.result())["approve"] == 7


@pytest.mark.parametrize(
    ("migrate", "why"),
    [
        (lambda _: {}, "KeyError"),
        (lambda _: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda run: run, "it stands at 'gate'"),
    ],
    ids=["no run", "raises", "changes nothing"],
)
async def test_a_migration_that_fails_leaves_the_run_as_it_was(store: Store, migrate: Any, why: str) -> None:
    gate = Gate()
    old = Chain("work", [gate.step])
    await leave_at(gate, store, old, {"topic": "tides"})
    async with store:
        before = await store.load("r1")
    new = Chain("work", [step("door", lambda _: None)], version=2)
    async with running(store, new, migrations={"work": {1: migrate}}) as runner:
        error = (await runner.recover()).left_open["r1"]
        assert isinstance(error, IncompatibleCheckpoint)
        assert why in str(error)
    async with store:
        after = await store.load("r1")
        assert after._replace(run=after.run._replace(blocked=None)) == before
        assert after.run.blocked is not None
    async with running(store, old) as runner:
        await runner.recover()
        await (await runner.get("r1")).result()


async def test_a_completed_run_is_read_in_the_new_version(store: Store) -> None:
    old = Chain("work", [logs("gate")])
    async with running(store, old) as runner:
        await (await runner.start(old, {"topic": "tides"}, run_id="r1")).result()

    def subject(run: dict[str, Any]) -> dict[str, Any]:
        state = run["frames"][""]["state"]
        state["subject"] = state.pop("topic")
        return run

    new = Chain("work", [logs("gate")], version=2)
    async with running(store, new, migrations={"work": {1: subject}}) as runner:
        result: State = await (await runner.get("r1")).result()
    assert result["subject"] == "tides"
