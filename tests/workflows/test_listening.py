"""Whoever listens to a run hears what its steps tell, and a ring whenever more of it is stored."""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio import fail_after, wait_all_tasks_blocked
from anyio.lowlevel import checkpoint
from tests.workflows._hearing import CountingStore, Ear, HeldStore, has_ended, is_at_rest, stands_at
from tests.workflows._other_process import outsider
from tests.workflows._words import NOTHING, PATIENCE, Counted, Gate, Store, dying, running, take_away

from stagepost.checkpoint import ItemStatus, MemoryStore, OwnershipLost, RunStatus, SqliteStore, StoreClosed, WaitStatus
from stagepost.workflows import (
    Chain,
    Heard,
    Inbox,
    Listening,
    MemoryRoom,
    Parallel,
    Receive,
    Runner,
    RunnerNotOpen,
    RunnerStopped,
    Sleep,
    State,
    StepContext,
    Told,
    Wait,
    step,
)
from stagepost.workflows._listening._listening import Entered
from stagepost.workflows._listening._room import Room
from stagepost.workflows._listening._source import StoredSource

SLOW = 60  # seconds: another interpreter starts


class Teller:
    """A step that tells numbers, each when it is let to."""

    def __init__(self, name: str = "teller") -> None:
        self.send, self._receive = anyio.create_memory_object_stream[object](1000)
        self.step = step(name, self.tell)
        self.entered = anyio.Event()
        self.was_heard: list[bool] = []

    async def tell(self, _state: State, context: StepContext) -> None:
        self.entered.set()
        with self._receive:
            async for what in self._receive:
                self.was_heard.append(context.is_heard)
                context.tell(what)


def asks(name: str = "ask") -> Chain:
    return Chain("asks", [Wait(name), NOTHING])


# new runs


async def test_whoever_waits_for_new_runs_is_told_how_many_there_are(store: Store) -> None:
    work = Chain("work", [Chain("below", [NOTHING])])
    async with running(store, work) as runner, anyio.create_task_group() as group:
        assert await runner.runs_started(beyond=-1) == 0
        counts = list[int]()

        async def count() -> None:
            counts.append(await runner.runs_started(beyond=0))

        group.start_soon(count)
        await wait_all_tasks_blocked()
        assert counts == []
        await (await runner.start(work, run_id="r")).result()
        await runner.start(work, run_id="r")  # is there already
        await wait_all_tasks_blocked()
        assert (counts, await runner.runs_started(beyond=0)) == ([1], 1)
    with pytest.raises(RunnerNotOpen):
        await runner.runs_started(beyond=-1)


async def test_a_runner_shows_its_store(store: Store) -> None:
    assert Runner(store).store is store


# rings


async def test_each_commit_rings_and_what_it_has_saved_can_be_read_then(store: Store) -> None:
    gates = [Gate(name, {name: 1}) for name in "abc"]
    work = Chain("work", [gate.step for gate in gates])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await runner.start(work, run_id="r")
            ear = Ear()
            for gate, following in pairwise([*gates, None]):
                assert gate is not None
                await gate.entered.wait()
                gate.open.set()
                await ear.hear(listening, stands_at(None if following is None else following.step.name))
            await ear.hear(listening, has_ended)
    assert ear.last.run.status is RunStatus.COMPLETED
    assert ear.last.root.state == dict.fromkeys("abc", b"1")


async def test_the_first_call_returns_at_once_with_a_ring(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        with runner.listen("r") as listening:
            assert await listening.next() == Heard((), 0, rung=True)
        gate.open.set()
        await run.result()
        with runner.listen("r") as listening:
            assert await listening.next() == Heard((), 0, rung=True)
            assert (await listening.source.snapshot("r")).run.status is RunStatus.COMPLETED


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize("saved", [True, False], ids=["saved", "not saved yet"])
@pytest.mark.parametrize("kind", ["step", "item", "freeze", "branch"])
async def test_a_commit_that_is_under_way_when_somebody_begins_to_listen_rings(*, saved: bool, kind: str) -> None:
    gate = Gate()
    part = {
        "step": Chain("part", [NOTHING]),
        "freeze": Parallel("part", over="items", worker=gate.step),
        "item": Parallel("part", {"a": NOTHING, "b": gate.step}),
        "branch": Parallel("part", {"a": Chain("inner", [NOTHING, gate.step]), "b": gate.step}),
    }[kind]
    work = Chain("work", [part, gate.step] if kind == "step" else [part])
    store = HeldStore(1 if kind in ("step", "freeze") else 2, saved=saved)
    async with running(store, work) as runner:
        await runner.start(work, {"items": [1]}, run_id="r")
        await store.held.wait()
        with runner.listen("r") as listening:
            assert (await listening.next()).rung
            with anyio.move_on_after(0):
                await listening.next()
                raise AssertionError("nothing has been stored")
            store.go_on.set()
            assert (await listening.next()).rung
            found = await listening.source.snapshot("r")
        gate.open.set()
    if kind == "item":
        assert ItemStatus.OK in {item.status for item in found.items}
    elif kind == "branch":
        assert any(path for path in found.frames)
    else:
        assert found.root.seq == 2


async def test_waits_answers_and_parks_ring(store: Store) -> None:
    async with running(store, asks()) as runner:
        with runner.listen("r") as listening:
            await runner.start(runner.workflow("asks"), run_id="r")
            ear = await Ear().hear(listening, is_at_rest)
            assert [wait.status for wait in ear.last.waits] == [WaitStatus.OPEN]
            await runner.answer("r/ask", "yes")
            await ear.hear(listening, lambda ear: ear.last.waits[0].status is WaitStatus.ANSWERED)
            await ear.hear(listening, has_ended)
    assert ear.last.waits[0].value == b'"yes"'


async def test_an_answer_rings_at_once_though_its_run_cannot_go_on_now(store: Store) -> None:
    gate = Gate()
    full = Chain("full", [gate.step])
    async with running(store, asks(), full, max_running=1) as runner:
        with runner.listen("r") as listening:
            await (await runner.start(runner.workflow("asks"), run_id="r")).settled()
            await runner.start(full)
            await gate.entered.wait()
            ear = await Ear().hear(listening, is_at_rest)
            await runner.answer("r/ask", "yes")
            await ear.hear(listening, lambda ear: ear.last.waits[0].status is WaitStatus.ANSWERED)
            assert ear.last.run.status is RunStatus.RUNNING
            assert ear.last.root.seq == 1
        gate.open.set()


async def test_an_inbox_of_this_process_rings(store: Store) -> None:
    async with running(store, asks()) as runner:
        with runner.listen("r") as listening:
            await (await runner.start(runner.workflow("asks"), run_id="r")).settled()
            ear = await Ear().hear(listening, is_at_rest)
            await Inbox(store).answer("r/ask", "yes")
            await ear.hear(listening, has_ended)
    assert ear.last.waits[0].value == b'"yes"'


async def test_an_answer_that_is_dropped_since_it_misfits_rings(store: Store) -> None:
    work = Chain("work", [Wait("ask", expect=int)])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await (await runner.start(work, run_id="r")).settled()
            ear = await Ear().hear(listening, is_at_rest)
            await Inbox(store).answer("r/ask", "no number")
            await ear.hear(listening, lambda ear: ear.last.waits[0].refused is not None)
            assert ear.last.waits[0].status is WaitStatus.OPEN


async def test_signals_and_times_that_are_due_ring(store: Store) -> None:
    work = Chain("work", [Receive("go"), Sleep("nap", 0.01)])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await (await runner.start(work, run_id="r")).settled()
            ear = await Ear().hear(listening, is_at_rest)
            await runner.signal("r", "go")
            await ear.hear(listening, has_ended)
    assert [wait.status for wait in ear.last.waits] == [WaitStatus.ANSWERED, WaitStatus.EXPIRED]


async def test_an_effect_in_doubt_and_its_word_ring(store: Store) -> None:
    async def pay(_state: State, context: StepContext) -> Mapping[str, object]:
        async def effect() -> int:
            raise ValueError("nobody knows")

        return {"paid": await context.once("pay", effect, expect=int)}

    work = Chain("work", [step("pay", pay)])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await (await runner.start(work, run_id="r")).settled()
            ear = await Ear().hear(listening, is_at_rest)
            assert ear.last.effects
            await runner.settle("r", "pay", value=3)
            await ear.hear(listening, has_ended)
    assert ear.last.root.state == {"paid": b"3"}


async def test_cancelled_runs_ring_wherever_they_stand(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, asks()) as runner:
        for workflow, settled in ((work, False), (runner.workflow("asks"), True)):
            run = await runner.start(workflow)
            if settled:
                await run.settled()
                run = None  # type: ignore[assignment]  # of a run that rests, and that nobody holds, there is no record
            with runner.listen((await runner.runs.list(newest_first=True)).items[0].run_id) as listening:
                await listening.next()
                ear = Ear()
                await runner.cancel(listening.run_id)
                await ear.hear(listening, has_ended)
            assert ear.last.run.status is RunStatus.CANCELLED


async def test_failed_and_resumed_runs_ring(store: Store) -> None:
    counted, is_mended = Counted(), list[bool]()
    work = Chain("work", [counted.adds("a"), counted.fails("b", lambda: bool(is_mended))])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await runner.start(work, run_id="r")
            ear = await Ear().hear(listening, has_ended)
            assert ear.last.run.status is RunStatus.FAILED
            is_mended.append(True)
            await runner.resume("r")
            await ear.hear(listening, lambda ear: ear.last.run.status is RunStatus.COMPLETED)
    assert [seen.run.epoch for seen in ear.seen][-1] == 2


async def test_runs_that_steps_start_ring_and_are_found(store: Store) -> None:
    gate = Gate("inner")
    child = Chain("child", [gate.step])

    async def start(_state: State, context: StepContext) -> None:
        await context.child(child, "one", {})

    work = Chain("work", [step("start", start)], companions=[child])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await runner.start(work, run_id="r")
            while not await listening.source.below("r"):
                await listening.next()
            await gate.entered.wait()
            gate.open.set()
            ear = await Ear().hear(listening, has_ended)
            assert [info.run_id for info in await listening.source.below("r")] == ["r.one"]
            assert await listening.source.below("r.one") == ()
    assert ear.last.run.status is RunStatus.COMPLETED


async def test_items_that_end_out_of_order_ring_one_by_one(store: Store) -> None:
    gates = {name: Gate(name) for name in "abc"}
    work = Chain("work", [Parallel("all", {name: gate.step for name, gate in gates.items()})])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await runner.start(work, run_id="r")
            ear = Ear()
            for done, name in enumerate("ca", 1):
                gates[name].open.set()
                await ear.hear(listening, partial(_ended, done))
            gates["b"].open.set()
            await ear.hear(listening, has_ended)
    counts = [[item.idx for item in seen.items if item.status is ItemStatus.OK] for seen in ear.seen]
    assert [2] in counts
    assert [0, 2] in counts


def _ended(count: int, ear: Ear) -> bool:
    return bool(ear.seen) and sum(item.status is ItemStatus.OK for item in ear.last.items) == count


# what is told


async def test_what_steps_tell_comes_in_order_and_before_the_ring_of_their_commit(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await runner.start(work, run_id="r")
            for number in range(5):
                await teller.send.send(number)
            teller.send.close()
            ear = await Ear().hear(listening, has_ended)
    assert ear.told == [0, 1, 2, 3, 4]
    assert {told.place for heard in ear.heard for told in heard.told} == {"teller"}
    told = next(index for index, heard in enumerate(ear.heard) if 4 in [told.what for told in heard.told])
    assert any(heard.rung for heard in ear.heard[told:]), "the ring of its commit comes with it, or after it"


async def test_nobody_listens_and_nothing_happens(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner:
        run = await runner.start(work)
        await teller.send.send(1)
        teller.send.close()
        await run.result()
    assert teller.was_heard == [False]


async def test_a_step_knows_whether_anybody_listens_at_this_moment(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await teller.entered.wait()
        for _ in range(2):
            with runner.listen("r") as listening:
                await teller.send.send("heard")
                assert "heard" in (await Ear().hear(listening, lambda ear: ear.told)).told
            await teller.send.send("not heard")
            await wait_all_tasks_blocked()
        teller.send.close()
        await run.result()
    assert teller.was_heard == [True, False, True, False]


async def test_who_joins_late_gets_first_what_was_told_since_the_last_commit(store: Store) -> None:
    first, second = Teller("first"), Teller("second")
    work = Chain("work", [first.step, second.step])
    async with running(store, work) as runner:
        with runner.listen("r") as early:
            run = await runner.start(work, run_id="r")
            await first.send.send("old")
            first.send.close()
            for number in range(3):
                await second.send.send(number)
            await Ear().hear(early, lambda ear: 2 in ear.told)
            with runner.listen("r") as late:
                heard = await late.next()
        second.send.close()
        await run.result()
    assert heard == Heard(tuple(Told("r", "second", number) for number in range(3)), 0, rung=True)


class Text(str):
    """A text that comes piece by piece."""

    __slots__ = ()

    def grown(self, more: object) -> "Text | None":
        return Text(self + more) if isinstance(more, Text) else None


async def test_pieces_that_belong_together_are_one_for_who_joins_late(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner:
        with runner.listen("r") as early:
            run = await runner.start(work, run_id="r")
            for piece in (Text("Hel"), Text("lo"), 7, Text("!")):
                await teller.send.send(piece)
            ear = await Ear().hear(early, lambda ear: "!" in ear.told)
            with runner.listen("r") as late:
                heard = await late.next()
        teller.send.close()
        await run.result()
    assert ear.told == ["Hel", "lo", 7, "!"]
    assert [told.what for told in heard.told] == ["Hello", 7, "!"]


async def test_runs_below_are_heard_and_can_be_listened_to_alone(store: Store) -> None:
    inner, outer = Teller("inner"), Teller("outer")
    child = Chain("child", [inner.step])

    async def start(state: State, context: StepContext) -> None:
        await outer.tell(state, context)
        await context.child(child, "one", {})

    work = Chain("work", [step("start", start)], companions=[child])
    async with running(store, work) as runner:
        with runner.listen("r") as all_of_it, runner.listen("r.one") as child_alone:
            await runner.start(work, run_id="r")
            await outer.send.send("from the parent")
            outer.send.close()
            await inner.send.send("from the child")
            inner.send.close()
            ear = await Ear().hear(all_of_it, has_ended)
            while (heard := await child_alone.next()).told == ():
                pass
    assert ear.told == ["from the parent", "from the child"]
    assert heard.told == (Told("r.one", "inner", "from the child"),)


@pytest.mark.parametrize("inline", [True, False], ids=["inline", "in a thread"])
async def test_steps_that_are_no_coroutines_tell_too(store: Store, *, inline: bool) -> None:
    def tell(_state: State, context: StepContext) -> None:
        context.tell("here")

    work = Chain("work", [step("tell", tell, inline=inline)])
    async with running(store, work) as runner:
        with runner.listen("r") as listening:
            await runner.start(work, run_id="r")
            ear = await Ear().hear(listening, has_ended)
    assert ear.told == ["here"]


async def test_threads_of_a_step_tell_too(anyio_backend: str) -> None:
    assert anyio_backend
    room = MemoryRoom()  # made in the loop or not: what counts is where the run is

    async def tell(_state: State, context: StepContext) -> None:
        thread = Thread(target=context.tell, args=("from a thread",))
        thread.start()
        await anyio.to_thread.run_sync(thread.join)

    with room.listen() as listening:
        await Chain("work", [step("tell", tell)]).run(room=room)
        ear = await Ear().hear(listening, has_ended)
    assert ear.told == ["from a thread"]


async def test_plain_values_are_copied_and_show_no_secrets(store: Store) -> None:
    given: dict[str, Any] = {"key": "sk-live-4711", "list": ["sk-live-4711", ("sk-live-4711", 1)], "n": None}

    def tell(_state: State, context: StepContext) -> None:
        context.tell(given)
        given["list"].append("later")

    work = Chain("work", [step("tell", tell, inline=True)])
    async with running(store, work, secrets={"key": "sk-live-4711"}) as runner:
        with runner.listen("r") as listening:
            await runner.start(work, run_id="r")
            ear = await Ear().hear(listening, has_ended)
    assert ear.told == [{"key": "***", "list": ["***", ("***", 1)], "n": None}]


# several, slow and leaving listeners


async def test_a_slow_listener_misses_told_values_and_no_ring_and_keeps_nobody_waiting(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step, NOTHING])
    async with running(store, work) as runner:
        with runner.listen("r", buffer=3) as slow, runner.listen("r") as quick:
            run = await runner.start(work, run_id="r")
            for number in range(100):
                await teller.send.send(number)
            teller.send.close()
            ear = await Ear().hear(quick, has_ended)
            await run.result()
            late = await Ear().hear(slow, has_ended)
    assert ear.told == list(range(100))
    assert late.told == [97, 98, 99]
    assert sum(heard.missed for heard in late.heard) == 97


async def test_many_listeners_share_one_read_for_each_ring() -> None:
    gates, store = [Gate(name) for name in "ab"], CountingStore()
    work = Chain("work", [gate.step for gate in gates])
    ears = [Ear() for _ in range(100)]
    async with running(store, work) as runner, anyio.create_task_group() as group:
        await runner.start(work, run_id="r")

        async def hear(ear: Ear) -> None:
            with runner.listen("r") as listening:
                await ear.hear(listening, has_ended)

        for ear in ears:
            group.start_soon(hear, ear)
        await wait_all_tasks_blocked()
        before = store.heads
        for gate in gates:
            gate.open.set()
            await wait_all_tasks_blocked()
    assert before == 1
    assert store.heads - before <= 4, "two commits, the end, and no more"
    assert {tuple(seen.root.seq for seen in ear.seen)[-1] for ear in ears} == {3}


async def test_what_listeners_make_of_a_read_is_shared_until_the_next_ring(store: Store) -> None:
    async with running(store, asks()) as runner:
        await (await runner.start(runner.workflow("asks"), run_id="r")).settled()
        with runner.listen("r") as one, runner.listen("r") as other:
            one.memo["made"] = 1
            assert other.memo["made"] == 1
            await runner.answer("r/ask", 1)
            assert "made" not in other.memo


async def test_a_read_that_is_cancelled_or_fails_is_made_again_by_who_waits_for_it() -> None:
    class Slow(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.began, self.go_on, self.reads = anyio.Event(), anyio.Event(), 0

        async def head(self, run_id: str) -> Any:
            self.reads += 1
            if self.reads == 1:
                self.began.set()
                await self.go_on.wait()
            return await super().head(run_id)

    store = Slow()
    async with running(store, asks()) as runner:
        await (await runner.start(runner.workflow("asks"), run_id="r")).settled()
        with runner.listen("r") as one, runner.listen("r") as other:
            found = list[str]()

            async def read(listening: Listening) -> None:
                found.append((await listening.source.snapshot("r")).run.run_id)

            async with anyio.create_task_group() as group, anyio.create_task_group() as first:
                first.start_soon(read, one)
                await store.began.wait()
                group.start_soon(read, other)
                await checkpoint()
                first.cancel_scope.cancel()
    assert (found, store.reads) == (["r"], 2)


async def test_listeners_may_leave_while_the_bell_rings(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner, anyio.create_task_group() as group:
        run = await runner.start(work, run_id="r")

        async def hear(count: int) -> None:
            with runner.listen("r") as listening:
                for _ in range(count):
                    await listening.next()

        for count in range(1, 20):
            group.start_soon(hear, count)
        await teller.entered.wait()
        for number in range(40):
            await teller.send.send(number)
            await checkpoint()
        await wait_all_tasks_blocked()
        with runner.listen("r") as listening:  # those before have not taken the room with them
            await teller.send.send("last")
            await Ear().hear(listening, lambda ear: "last" in ear.told)
        teller.send.close()
        await run.result()


async def test_listening_ends_with_its_task_and_touches_nothing(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await teller.entered.wait()
        with anyio.move_on_after(0), runner.listen("r") as listening:
            while True:
                await listening.next()
        await teller.send.send(1)
        teller.send.close()
        await run.result()
    assert teller.was_heard == [False]


# ends of listening


async def test_leaving_the_runner_ends_listening_after_what_was_saved_until_then(store: Store) -> None:
    gate = Gate(updates={"saved": 1})
    work, done = Chain("work", [gate.step, NOTHING]), Chain("done", [NOTHING])
    ears = {name: Ear() for name in ("busy", "parked", "ended", "nobody knows")}
    given = [work, asks(), done]
    async with store, anyio.create_task_group() as group, Runner(store, workflows=given) as runner:
        await runner.start(work, run_id="busy")
        await (await runner.start(runner.workflow("asks"), run_id="parked")).settled()
        await (await runner.start(done, run_id="ended")).result()
        for name, ear in ears.items():
            group.start_soon(_hear_to_the_end, runner.listen(name), ear)
        await wait_all_tasks_blocked()
        group.start_soon(_open_later, gate)
    assert ears["busy"].last.root.state == {"saved": b"1"}


async def _hear_to_the_end(listening: Listening, ear: Ear) -> None:
    with listening:
        with pytest.raises(RunnerStopped):
            await _hear_for_ever(listening, ear)
        with pytest.raises(RunnerStopped):  # whoever asks again
            await listening.next()


async def _hear_for_ever(listening: Listening, ear: Ear) -> None:
    while True:
        ear.heard.append(heard := await listening.next())
        if heard.rung and listening.run_id == "busy":
            ear.seen.append(await listening.source.snapshot(listening.run_id))


async def _open_later(gate: Gate) -> None:
    await wait_all_tasks_blocked()
    gate.open.set()


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED])
async def test_a_run_that_ends_while_its_runner_is_left_is_heard_to_its_end(store: Store, status: RunStatus) -> None:
    gate, ear = Gate(), Ear()

    async def end(state: State) -> None:
        await gate.pass_through(state)
        if status is RunStatus.FAILED:
            raise ValueError("broken")

    work = Chain("work", [step("end", end)])
    async with store:
        async with anyio.create_task_group() as group, Runner(store, workflows=[work]) as runner:
            await runner.start(work, run_id="r")
            group.start_soon(_hear_to_the_end, runner.listen("r"), ear)
            await gate.entered.wait()
            await wait_all_tasks_blocked()
            group.start_soon(_open_later, gate)
        assert (await store.info("r")).status is status
    assert len(ear.heard) >= 2


async def test_a_run_that_is_lost_to_another_owner_ends_listening(store: Store) -> None:
    gates = [Gate("a"), Gate("b")]
    work = Chain("work", [gate.step for gate in gates])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await gates[0].entered.wait()
        with runner.listen("r") as listening:
            await listening.next()
            await take_away(store, "r")
            gates[0].open.set()
            with pytest.raises(OwnershipLost):
                await _hear_for_ever(listening, Ear())
        with pytest.raises(OwnershipLost):
            await run.result()


async def test_a_store_that_is_left_ends_listening(store: Store) -> None:
    with fail_after(PATIENCE):
        async with store, Runner(store, workflows=[asks()]) as runner:
            await (await runner.start(runner.workflow("asks"), run_id="r")).settled()
            with runner.listen("r") as listening:
                await listening.next()
                await store.__aexit__(None, None, None)
                with pytest.raises(StoreClosed):
                    await listening.next()
            await store.__aenter__()


async def test_whoever_wants_rings_only_makes_no_step_tell_anything(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner:
        with runner.listen("r", buffer=0) as rings:
            run = await runner.start(work, run_id="r")
            await teller.entered.wait()
            await teller.send.send("nobody hears this")
            await wait_all_tasks_blocked()
            with runner.listen("r") as listening:
                await teller.send.send("this is heard")
                await wait_all_tasks_blocked()
                heard = [await listening.next(), await listening.next()]
                assert [told.what for each in heard for told in each.told] == ["this is heard"]
            await teller.send.send("nor this")
            await wait_all_tasks_blocked()
            await teller.send.aclose()
            await run.result()
            while (await rings.source.snapshot("r")).run.status is not RunStatus.COMPLETED:
                heard = [await rings.next()]
                assert (heard[0].told, heard[0].rung) == ((), True)
    assert teller.was_heard == [False, True, False]


async def test_nobody_listens_without_a_runner_that_is_open(store: Store) -> None:
    async with running(store) as runner:
        listening = runner.listen("r")
        with pytest.raises(RuntimeError, match="enter this first"):
            listening.source  # noqa: B018  # a property
        with pytest.raises(ValueError, match="buffer=-1"):
            runner.listen("r", buffer=-1)
        with pytest.raises(ValueError, match="buffer=0"):
            runner.stream("r", buffer=0)
    with pytest.raises(RunnerNotOpen):
        runner.listen("r")


async def test_starting_a_run_that_is_there_and_asking_for_handles_ends_no_listening(store: Store) -> None:
    async with dying(store, asks()) as runner:
        await (await runner.start(runner.workflow("asks"), run_id="r")).settled()
    async with running(store, asks()) as runner:
        with runner.listen("r") as listening:
            await runner.start(runner.workflow("asks"), run_id="r")
            await runner.get("r")
            ear = await Ear().hear(listening, is_at_rest)
            await runner.answer("r/ask", 1)
            await ear.hear(listening, has_ended)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_another_process_writes_rings(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    async with running(SqliteStore(file), asks(), patience=SLOW) as runner:
        for run_id in ("answered", "cancelled"):
            await (await runner.start(runner.workflow("asks"), run_id=run_id)).settled()
        async with outsider(file, "plain") as other:
            with runner.listen("answered") as listening:
                ear = await Ear().hear(listening, is_at_rest)
                assert await other.say("answer", "answered/ask", 17) == "ok"
                await ear.hear(listening, has_ended)
            assert ear.last.waits[0].value == b"17"
            with runner.listen("cancelled") as listening:
                ear = await Ear().hear(listening, is_at_rest)
                assert await other.say("cancel", "cancelled") == "ok"
                await ear.hear(listening, has_ended)
            assert ear.last.run.status is RunStatus.CANCELLED


async def test_what_is_kept_for_who_joins_late_is_bounded(store: Store) -> None:
    teller = Teller()
    work = Chain("work", [teller.step])
    async with running(store, work) as runner:
        with runner.listen("r", buffer=1) as early:
            run = await runner.start(work, run_id="r")
            for number in range(1100):
                await teller.send.send(number)
            while (heard := await early.next()).told[-1:] != (Told("r", "teller", 1099),):
                pass
            with runner.listen("r", buffer=5000) as late:
                heard = await late.next()
        teller.send.close()
        await run.result()
    assert [told.what for told in heard.told] == list(range(100, 1100))


async def test_what_children_tell_is_kept_for_so_many_of_them() -> None:
    room = Room("r")
    for number in range(1100):
        room.tell(f"r.{number}", "step", number)
    room.forget("r.1099")
    with _Door(room) as listening:
        heard = await listening.next()
    assert [told.what for told in heard.told] == list(range(100, 1099))


class _Door:
    """Leads to one room."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._listening = Listening("r", self, size=5000)

    def __enter__(self) -> Listening:
        return self._listening.__enter__()

    def __exit__(self, *error: object) -> None:
        self._listening.__exit__(None, None, None)

    def enter(self, listening: Listening) -> Entered:
        self._room.enter(listening)
        source = StoredSource(MemoryStore(), self._room.memo)
        return Entered(self._room, source, source)

    def leave(self, listening: Listening, room: Room) -> None:
        assert room is self._room
        room.leave(listening)
        assert room.is_empty

    def works_on(self, run_id: str) -> bool:
        return run_id == self._room.run_id


async def test_more_children_than_a_page_has_are_found() -> None:
    child = Chain("child", [NOTHING])

    async def start(item: int, context: StepContext) -> None:
        await context.child(child, f"c{item:03}", {})

    work = Chain("work", [Parallel("fan", step("start", start), over="items"), Wait("ask")], companions=[child])
    async with running(MemoryStore(), work) as runner:
        await (await runner.start(work, {"items": list(range(120))}, run_id="r")).settled()
        with runner.listen("r") as listening:
            found = await listening.source.below("r")
    assert [info.run_id for info in found] == [f"r.c{item:03}" for item in range(120)]


async def test_listening_to_a_runner_that_is_being_left_ends_after_the_first_ring(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with store, anyio.create_task_group() as group, Runner(store, workflows=[work]) as runner:
        await runner.start(work, run_id="r")
        await gate.entered.wait()
        dispatcher = runner._open()

        async def come_late() -> None:
            await wait_all_tasks_blocked()
            rooms = dispatcher.presence.rooms
            with Listening("r", rooms, size=1) as listening:
                assert (await listening.next()).rung
                with pytest.raises(RunnerStopped):
                    await listening.next()
            gate.open.set()

        group.start_soon(come_late)
