"""Runs that are executed here are followed in memory; the store is read for what is not known there."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from tests.workflows._hearing import CountingStore, HeldStore
from tests.workflows._words import NOTHING, Gate, running

from stagepost.checkpoint import (
    Effect,
    Frame,
    Item,
    ItemStatus,
    MemoryStore,
    Page,
    RunInfo,
    RunNotFound,
    Snapshot,
    StoredWait,
)
from stagepost.workflows import Append, Chain, Listening, Parallel, State, Wait, step
from stagepost.workflows._listening._followed import FollowedSource

LOG: dict[str, Any] = {"log": Annotated[list[str], Append]}


async def logs(_: object) -> dict[str, list[str]]:
    return {"log": ["a", "b"]}


class Standing:
    """A run with one item."""

    def __init__(self, epoch: int = 1) -> None:
        self.epoch = epoch
        self.seq = 1
        self.status = ItemStatus.WAITING

    def frame(self) -> Frame:
        return Frame("", self.seq, "fan", {})

    def items(self) -> Sequence[Item]:
        return [Item("fan", 0, 0, self.status, b"1")]

    def waits(self) -> Sequence[StoredWait]:
        return ()

    def effects(self) -> Sequence[Effect]:
        return ()

    def elements(self, key: str, after: int, limit: int) -> Sequence[Any] | None:
        return None if key == "gathered" else [key, after, limit]


class Stored:
    """A source that shows run ``r`` as it was at first, and counts its reads."""

    def __init__(self, head: Snapshot) -> None:
        self.head = head
        self.reads = 0
        self.meanwhile: Callable[[], None] = lambda: None

    async def snapshot(self, run_id: str) -> Snapshot:
        assert run_id == "r"
        self.reads += 1
        self.meanwhile()
        return self.head

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[bytes]:
        return Page([f"{run_id} {key} {after} {limit}".encode()])

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[bytes]]:
        return await self.snapshot(run_id), await self.elements(run_id, key, after, limit)

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        return (self.head.run._replace(run_id=f"{run_id}.1"),)


async def stored() -> Stored:
    work = Chain("work", [Gate().step])
    async with running(MemoryStore(), work, grace=0) as runner:
        await runner.start(work, run_id="r")
        with runner.listen("r") as listening:
            return Stored(await listening.source.snapshot("r"))


async def test_a_run_that_is_followed_is_read_once() -> None:
    source, standing = await stored(), Standing()
    followed = FollowedSource(source, lambda _: standing, {}, lambda: 5.0)
    assert (await followed.snapshot("r")).root.next == "fan"
    standing.seq = 2
    snapshot, page = await followed.snapshot_with("r", "log", 1, 2)
    assert (snapshot.root.seq, list(page.items)) == (2, ["log", 1, 2])
    assert list((await followed.elements("r", "log", 0)).items) == ["log", 0, 100]
    assert [each.run_id for each in await followed.below("r")] == ["r.1"]
    assert source.reads == 1


async def test_a_list_of_which_only_the_store_knows_the_elements_is_read_there() -> None:
    source, standing = await stored(), Standing()
    followed = FollowedSource(source, lambda _: standing, {}, lambda: 5.0)
    assert list((await followed.elements("r", "gathered", 0)).items) == [b"r gathered 0 100"]
    assert (await followed.snapshot_with("r", "gathered", 0))[0] is source.head


async def test_it_is_noted_when_something_was_saved_that_was_not_there_before() -> None:
    source, standing, now = await stored(), Standing(), [1.0]
    before = source.head.saved_at[""]
    followed = FollowedSource(source, lambda _: standing, {}, lambda: now[0])
    assert (await followed.snapshot("r")).saved_at == {"": before}
    standing.status = ItemStatus.OK
    assert (await followed.snapshot("r")).saved_at == {"": before, "fan[0]": datetime.fromtimestamp(1, UTC)}
    standing.seq, now[0] = 2, 2.0
    two = datetime.fromtimestamp(2, UTC)
    assert (await followed.snapshot("r")).saved_at == {"": two, "fan[0]": two}
    now[0] = 3.0
    assert (await followed.snapshot("r")).saved_at == {"": two, "fan[0]": two}


async def test_a_run_that_another_process_has_claimed_since_is_read_from_the_store() -> None:
    source = await stored()
    followed = FollowedSource(source, lambda _: Standing(epoch=7), {}, lambda: 5.0)
    assert await followed.snapshot("r") is source.head
    assert list((await followed.elements("r", "log", 0)).items) == [b"r log 0 100"]
    assert (await followed.snapshot_with("r", "log", 0))[0] is source.head


async def test_a_run_that_ends_while_it_is_read_first_is_read_from_the_store() -> None:
    source, known = await stored(), list[Standing | None]([Standing()])
    followed = FollowedSource(source, lambda _: known[-1], {}, lambda: 5.0)
    source.meanwhile = lambda: known.append(None)
    assert await followed.snapshot("r") is source.head


async def test_a_run_that_is_taken_up_again_is_followed_anew() -> None:
    source, known = await stored(), [Standing()]
    followed = FollowedSource(source, lambda _: known[-1], {}, lambda: 5.0)
    await followed.snapshot("r")
    known.append(Standing())
    known[-1].seq = 4
    assert (await followed.snapshot("r")).root.seq == 4
    assert source.reads == 2


async def test_the_store_is_not_read_while_a_run_goes_on_here(anyio_backend: str) -> None:
    first, second = Gate("first"), Gate("second")
    work = Chain("work", [first.step, step("log", logs), second.step], types=LOG)
    store = CountingStore()
    assert anyio_backend
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            with pytest.raises(RunNotFound):
                await listening.followed.snapshot("r")
            run = await runner.start(work, {"log": []}, run_id="r")
            await first.entered.wait()
            assert (await listening.followed.snapshot("r")).root.next == "first"
            reads = store.heads
            first.open.set()
            await second.entered.wait()
            found = await listening.followed.snapshot("r")
            assert (found.root.next, found.root.refs["log"].length) == ("second", 2)
            assert len((await listening.followed.elements("r", "log", 1)).items) == 1
            assert not (await listening.followed.elements("r", "nothing", 0)).items
            assert store.heads == reads
            second.open.set()
            await run.result()
            assert await listening.followed.snapshot("r") == await store.head("r")


async def test_nobody_is_told_more_than_what_is_saved(anyio_backend: str) -> None:
    store, work = HeldStore(2, saved=True), Chain("work", [NOTHING, step("log", logs)], types=LOG)
    assert anyio_backend
    async with running(store, work, grace=0) as runner, anyio.create_task_group() as group:
        with runner.listen("r") as listening:
            group.start_soon(runner.start, work, {"log": []})
            await store.held.wait()
            run_id = (await runner.runs.list()).items[0].run_id
            assert (await listening.followed.snapshot(run_id)).root.seq <= (await store.head(run_id)).root.seq
            store.go_on.set()


async def rung(listening: Listening) -> int:
    await wait_all_tasks_blocked()
    while not listening.buffer.is_empty:
        listening.buffer.take()
    return listening.rings


async def test_a_run_that_somebody_else_ends_rings_once_it_is_no_longer_followed(anyio_backend: str) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    assert anyio_backend
    async with running(MemoryStore(), work, grace=0) as runner:
        await runner.start(work, run_id="r")
        with runner.listen("r") as listening:
            await gate.entered.wait()
            await listening.followed.snapshot("r")
            before = await rung(listening)
            await runner.cancel("r")
            assert await rung(listening) > before
            assert (await listening.followed.snapshot("r")).run.finished_at is not None


async def test_items_and_waits_are_followed_where_a_run_is_taken_up_again(anyio_backend: str) -> None:
    store, gate = MemoryStore(), Gate()
    ask = Chain("inner", [Wait("ask")])
    work = Chain("work", [Parallel("fan", {"a": ask, "b": gate.step})])
    assert anyio_backend
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r")
        await gate.entered.wait()
        await same(runner.listen("r"), store)
    gate.entered = anyio.Event()
    async with running(store, work, grace=0) as runner:
        await runner.recover()
        await gate.entered.wait()
        await same(runner.listen("r"), store)
        (wait,) = await runner.waits()
        await runner.answer(wait.id, "yes")
        await wait_all_tasks_blocked()
        await same(runner.listen("r"), store)


async def test_the_items_of_a_fold_are_followed_where_it_is_taken_up_again(anyio_backend: str) -> None:
    store, gate = MemoryStore(), Gate()

    async def add(state: State, item: int) -> object:
        return await gate.pass_through(state) if item == 2 else {"sum": state["sum"] + item}

    work = Chain("work", [Chain.fold("add", add, over="items")])
    assert anyio_backend
    async with running(store, work, grace=0) as runner:
        await runner.start(work, {"items": [1, 2], "sum": 0}, run_id="r")
        await gate.entered.wait()
        await same(runner.listen("r"), store)
    gate.entered = anyio.Event()
    async with running(store, work, grace=0) as runner:
        await runner.recover()
        await gate.entered.wait()
        await same(runner.listen("r"), store)


async def same(listener: Listening, store: MemoryStore) -> None:
    """See that what is followed is what is stored, but for frames of items and for who owns the run."""
    await wait_all_tasks_blocked()
    with listener as listening:
        followed, head = await listening.followed.snapshot("r"), await store.head("r")
    assert not followed.row
    assert (followed.root, tuple(followed.items)) == (head.root, head.items)
    assert (tuple(followed.waits), tuple(followed.effects)) == (head.waits, head.effects)
