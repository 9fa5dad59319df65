"""A step that asks a served workflow parks with it, and goes on when that has ended, however it ends."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.workflows._doors import Door, Fault
from tests.workflows._words import PATIENCE, Counted, Gate, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus, StoreFull, WaitKind
from stagepost.hub import HandlerFailed, Hub
from stagepost.workflows import (
    Ask,
    Chain,
    ChainError,
    Parallel,
    Pattern,
    RunCancelled,
    RunFailed,
    Runner,
    RunParked,
    State,
    Wait,
    _patience,
    step,
)


@asynccontextmanager
async def serving(store: Store, *workflows: Pattern, **options: Any) -> AsyncIterator[tuple[Hub, Runner]]:
    async with Hub(grace=0) as hub, running(store, hub=hub, **options) as runner:
        for workflow in workflows:
            await runner.serve(workflow)
        yield hub, runner


def child_of(counted: Counted, name: str = "child") -> Chain:
    return Chain(name, [counted.adds("begin"), Wait("approval", expect=bool), counted.adds("end")])


def asking(agent: str = "child", name: str = "parent") -> Chain:
    def unpack(state: State) -> dict[str, object]:
        return {"path": state["asked"]["path"], "ok": state["asked"]["approval"]}

    return Chain(name, [Ask(agent, lambda _: {}, name="ask", into="asked"), step("unpack", unpack, inline=True)])


async def child_wait(runner: Runner, run_id: str = "p1") -> str:
    """Id of the one approval that a run waits for in the end."""
    (wait,) = await runner.waits(run_id)
    assert wait.name == "approval"
    return wait.id


async def test_a_parent_parks_on_its_child_and_shows_what_that_waits_for(store: Store) -> None:
    counted = Counted()
    child, parent = child_of(counted), asking()
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("p1/ask",)
        (own,) = [wait for wait in await runner.waits() if wait.run_id == "p1"]
        (shown,) = await runner.waits("p1")
        assert (own.kind, own.name) == (WaitKind.CHILD, shown.run_id)
        assert (shown.workflow, shown.kind, shown.id) == ("child", WaitKind.ANSWER, f"{own.name}/approval")
        assert await runner.waits("p1", kind=WaitKind.CHILD) == ()
        await runner.answer(shown.id, value=True)
        assert dict(await run.result())["ok"]
        assert await runner.waits("p1") == ()
    assert counted.calls == ["begin", "end"]


async def test_it_goes_on_in_a_later_process(store: Store) -> None:
    counted = Counted()
    child, parent = child_of(counted), asking()
    async with serving(store, child, parent) as (_, runner):
        await (await runner.start(parent, run_id="p1")).settled()
    async with serving(store, child, parent) as (_, runner):
        await runner.recover()
        run = await runner.get("p1")
        await runner.answer(await child_wait(runner), value=True)
        assert (await run.result())["path"] == ["begin", "end"]
    assert counted.calls == ["begin", "end"]


async def test_a_child_that_ended_while_nobody_watched_lets_its_parent_go_on(store: Store) -> None:
    counted = Counted()
    child, parent = child_of(counted), asking()
    async with serving(store, child, parent) as (_, runner):
        await (await runner.start(parent, run_id="p1")).settled()
    async with serving(store, child) as (_, runner):  # knows the child alone, and has not recovered
        (wait,) = [wait for wait in await runner.waits() if wait.name == "approval"]
        await runner.answer(wait.id, value=True)
        await (await runner.get(wait.run_id)).result()
        assert (await store.info("p1")).status.is_open
    async with serving(store, child, parent) as (_, runner):
        await runner.recover()
        assert (await (await runner.get("p1")).result())["path"] == ["begin", "end"]
    assert counted.calls == ["begin", "end"]


async def test_a_child_that_is_cancelled_fails_its_parent(store: Store) -> None:
    child, parent = child_of(Counted()), asking()
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        await run.settled()
        await runner.cancel((await child_wait(runner)).partition("/")[0])
        with pytest.raises(RunFailed, match="was cancelled") as failed:
            await run.result()
    assert isinstance(failed.value.__cause__, ChainError)
    cause = failed.value.__cause__.__cause__
    assert isinstance(cause, HandlerFailed)
    assert isinstance(cause.cause, RunCancelled)


async def test_a_child_that_fails_fails_its_parent_and_both_can_be_resumed(store: Store) -> None:
    counted, mended = Counted(), list[bool]()
    child = Chain("child", [Wait("approval", expect=bool), counted.fails("broken", lambda: bool(mended))])
    parent = Chain("parent", [Ask("child", lambda _: {}, name="ask", into="asked")])
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        await run.settled()
        wait = await child_wait(runner)
        await runner.answer(wait, value=True)
        with pytest.raises(RunFailed, match="broken is broken"):
            await run.result()
        mended.append(True)
        await (await runner.resume(wait.partition("/")[0])).result()
        result = await (await runner.resume("p1")).result()
    assert result["asked"]["broken"] == "mended"
    assert counted.calls == ["broken", "broken"]


async def test_a_parent_that_is_cancelled_leaves_its_child_alone(store: Store) -> None:
    counted = Counted()
    child, parent = child_of(counted), asking()
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        await run.settled()
        wait = await child_wait(runner)
        await runner.cancel("p1")
        with pytest.raises(RunCancelled):
            await run.result()
        await runner.answer(wait, value=True)
        await (await runner.get(wait.partition("/")[0])).result()
    assert counted.calls == ["begin", "end"]


@pytest.mark.parametrize("restart", [True, False], ids=["restarted", "one process"])
async def test_a_chain_of_three_goes_on_from_its_end(store: Store, restart: bool) -> None:  # noqa: FBT001  # a parameter of the test
    counted = Counted()
    workflows = [child_of(counted), asking("child", "middle"), asking_middle()]
    async with serving(store, *workflows) as (_, runner):
        run = await runner.start(workflows[2], run_id="p1")
        assert await run.settled() is RunStatus.WAITING
        wait = await child_wait(runner)
        assert [found.kind for found in await runner.waits()].count(WaitKind.CHILD) == 2
        if not restart:
            await runner.answer(wait, value=True)
            assert (await run.result())["path"] == ["begin", "end"]
    if restart:
        async with serving(store, *workflows) as (_, runner):
            await runner.recover()
            await runner.answer(wait, value=True)
            assert (await (await runner.get("p1")).result())["path"] == ["begin", "end"]
    assert counted.calls == ["begin", "end"]


def asking_middle() -> Chain:
    return Chain(
        "top",
        [
            Ask("middle", lambda _: {}, name="ask", into="asked"),
            step("unpack", lambda state: {"path": state["asked"]["path"]}, inline=True),
        ],
    )


async def test_requests_with_one_key_hear_of_one_parked_run(store: Store) -> None:
    counted = Counted()
    child = child_of(counted)

    async with serving(store, child) as (hub, runner):
        found: set[str] = set()
        for _ in range(2):
            with pytest.raises(HandlerFailed) as failed:
                await hub.request("child", {}, headers={"idempotency-key": "shared"})
            assert isinstance(failed.value.cause, RunParked)
            found |= {failed.value.cause.run_id, *failed.value.cause.waits}
        run_id, wait = sorted(found)
        assert wait == f"{run_id}/approval"
        await runner.answer(wait, value=True)
        reply = await hub.request("child", {}, expect=State, headers={"idempotency-key": "shared"})
        assert reply["path"] == ["begin", "end"]
    assert counted.calls == ["begin", "end"]


async def test_items_that_ask_park_one_by_one_and_free_their_workers(store: Store) -> None:
    counted = Counted()
    child = child_of(counted)
    fan = Parallel("fan", Ask("child", lambda item: {"n": item}, name="ask"), over="items", workers=1)
    parent = Chain("parent", [fan])
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, {"items": [0, 1, 2]}, run_id="p1")
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == ("p1/fan[0]", "p1/fan[1]", "p1/fan[2]")
        waits = await runner.waits("p1")
        assert len(waits) == 3
        for wait in waits:
            await runner.answer(wait.id, value=True)
        result = await run.result()
    assert [value["n"] for value in result["fan"]] == [0, 1, 2]


async def test_a_child_that_parks_twice_parks_its_parent_twice(store: Store) -> None:
    child = Chain("child", [Wait("first"), Wait("approval")])
    parent = Chain("parent", [Ask("child", lambda _: {}, name="ask", into="asked")])
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        await run.settled()
        (wait,) = await runner.waits("p1")
        await runner.answer(wait.id, 1)
        while not await runner.waits("p1", kind=WaitKind.ANSWER) or (await runner.waits("p1"))[0].name != "approval":
            await anyio.lowlevel.checkpoint()
        assert (await store.info("p1")).status is RunStatus.WAITING  # it was not bothered with that
        await runner.answer(await child_wait(runner), 2)
        assert (await run.result())["asked"]["approval"] == 2


async def test_a_child_that_ends_just_before_its_parent_parks_is_not_missed() -> None:
    """It has been told that the child is parked; the child ends before its own wait for it is stored."""
    store, counted = MemoryStore(), Counted()
    child, parent = child_of(counted), asking()
    door = Door(store, "wait", when=lambda _, wait: wait.kind is WaitKind.CHILD)
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        await door.reached.wait()
        (wait,) = await runner.waits()
        await runner.answer(wait.id, value=True)
        await (await runner.get(wait.run_id)).result()
        await anyio.wait_all_tasks_blocked()
        door.open.set()
        assert (await run.result())["path"] == ["begin", "end"]


async def test_a_child_that_ends_while_its_parent_parks_is_not_missed() -> None:
    store, counted = MemoryStore(), Counted()
    child, parent = child_of(counted), asking()
    door = Door(store, "park", behind=True, when=lambda lease, _: lease.run_id == "p1")
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        await door.reached.wait()
        await runner.answer(await child_wait(runner), value=True)
        await anyio.wait_all_tasks_blocked()
        door.open.set()
        assert (await run.result())["path"] == ["begin", "end"]


async def test_a_full_disk_at_the_end_of_a_child_only_delays_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_patience, "_PAUSE", 0.01)
    store = MemoryStore()
    child, parent = child_of(Counted()), asking()
    Fault(store, "release", StoreFull(Path("in memory")))
    async with serving(store, child, parent) as (_, runner):
        run = await runner.start(parent, run_id="p1")
        await run.settled()
        await runner.answer(await child_wait(runner), value=True)
        assert (await run.result())["path"] == ["begin", "end"]


async def test_a_child_of_another_runners_store_is_refused() -> None:
    """Nobody would hear of its end."""
    child, parent = child_of(Counted()), asking()
    with anyio.fail_after(PATIENCE):
        async with (
            Hub(grace=0) as hub,
            MemoryStore() as there,
            Runner(there, hub=hub) as other,
            running(MemoryStore(), parent, hub=hub) as runner,
        ):
            await other.serve(child)
            run = await runner.start(parent, run_id="p1")
            with pytest.raises(RunFailed, match="is parked in another runner's store"):
                await run.result()


async def test_in_memory_a_parked_child_fails_the_step(store: Store) -> None:
    child, parent = child_of(Counted()), asking()
    async with serving(store, child) as (hub, _):
        with pytest.raises(ChainError, match="is parked: it waits at"):
            await parent.run(hub=hub)


async def test_a_requester_that_gives_up_finds_the_parked_run_again(store: Store) -> None:
    gate, counted = Gate(), Counted()
    child = Chain("child", [gate.step, Wait("approval"), counted.adds("end")])
    headers = {"idempotency-key": "k"}
    async with serving(store, child) as (hub, runner):
        with pytest.raises(TimeoutError):
            await hub.request("child", {}, headers=headers, timeout=0.01)
        gate.open.set()
        with pytest.raises(HandlerFailed) as failed:
            await hub.request("child", {}, headers=headers)
        assert isinstance(failed.value.cause, RunParked)
        await runner.answer(failed.value.cause.waits[0], 1)
        assert (await hub.request("child", {}, expect=State, headers=headers))["path"] == ["end"]
    assert counted.calls == ["end"]
