"""Steps read the signals of their run without taking them, and only those that there are cost anything."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.workflows._doors import Door
from tests.workflows._words import Counted, Gate, Store, running

from stagepost.checkpoint import CannotStore, Page, RunStatus, SentSignal
from stagepost.workflows import (
    Chain,
    ChainError,
    DefinitionError,
    Parallel,
    Receive,
    Runner,
    State,
    StepContext,
    UnknownSignal,
    Wait,
    step,
)
from stagepost.workflows._runs._registry import Registry


class Note(BaseModel):
    """What a signal carries."""

    text: str


async def read(_state: State, context: StepContext) -> Mapping[str, object]:
    last = context.memo.get("last", 0)
    assert isinstance(last, int)
    found = await context.signals("note", last)
    if found:
        context.memo["last"] = found[-1].number
    return {context.path: [signal.value.text for signal in found]}


def reads(name: str) -> Any:
    return step(name, read, signals={"note": Note})


class Reads:
    """Counts how often a store is asked for signals."""

    def __init__(self, store: Store) -> None:
        self.count = 0
        self._read = store.signals
        store.signals = self._call  # type: ignore[method-assign]  # to count

    async def _call(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Any:  # noqa: ARG002  # the store's signature
        self.count += 1
        return await self._read(run_id, after=after, limit=1)  # page by page, however few there are


async def test_steps_find_what_was_sent_and_take_nothing(store: Store) -> None:
    gates = [Gate("one"), Gate("two")]
    again = step("again", look, signals={"note": Note})
    work = Chain("work", [reads("a"), gates[0].step, reads("b"), gates[1].step, reads("c"), again])
    async with running(store, work) as runner:
        asked = Reads(store)
        run = await runner.start(work, run_id="r")
        await gates[0].entered.wait()
        assert asked.count == 0
        for text in ("x", "y"):
            assert await runner.signal("r", "note", Note(text=text), dedup=text)
            assert not await runner.signal("r", "note", Note(text=text), dedup=text)
        gates[0].open.set()
        await gates[1].entered.wait()
        await runner.signal("r", "note", {"text": "z"})
        gates[1].open.set()
        result = await run.result()
    assert [result[key] for key in "abc"] == [[], ["x", "y"], ["z"]]
    assert result["all"] == ["x", "y", "z"]
    assert 3 <= asked.count <= 6  # a page for each signal, and one more if it is told of one that it has read


async def look(_state: State, context: StepContext) -> Mapping[str, object]:
    return {"all": [signal.value.text for signal in await context.signals("note")]}


async def test_a_run_to_which_nothing_is_sent_never_asks_the_store(store: Store) -> None:
    work = Chain("work", [reads("a"), reads("b")])
    async with running(store, work) as runner:
        asked = Reads(store)
        await (await runner.start(work)).result()
    assert asked.count == 0


async def test_a_run_that_is_taken_up_asks_once(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, reads("a"), step("again", look, signals={"note": Note})])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r")
        await gate.entered.wait()
        await runner.signal("r", "note", Note(text="before"))
    gate.open.set()
    async with running(store, work) as runner:
        asked = Reads(store)
        await runner.recover()
        result = await (await runner.get("r")).result()
    assert (result["a"], result["all"]) == (["before"], ["before"])
    assert asked.count == 1


async def test_a_signal_that_comes_as_the_run_is_begun_is_found(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, reads("a")])
    async with running(store, work) as runner:
        await begin_and_signal(runner, store, work)
        gate.open.set()
        assert (await (await runner.get("r")).result())["a"] == ["early"]


async def begin_and_signal(runner: Runner, store: Store, work: Chain) -> None:
    """Send a signal to run ``r`` when it is on disk, and its runner has not heard of that."""
    create, stored, go_on = store.create, anyio.Event(), anyio.Event()

    async def created(new: Any) -> Any:
        result = await create(new)
        stored.set()
        await go_on.wait()
        return result

    async def send() -> None:
        await stored.wait()
        async with anyio.create_task_group() as inner:
            inner.start_soon(lambda: runner.signal("r", "note", Note(text="early")))
            await anyio.wait_all_tasks_blocked()
            go_on.set()

    store.create = created  # type: ignore[method-assign, assignment]  # to hold it up
    async with anyio.create_task_group() as group:
        group.start_soon(send)
        await runner.start(work, run_id="r")


async def test_a_run_does_not_end_without_a_signal_that_is_being_sent(store: Store) -> None:
    gate, sent, go_on = Gate(), anyio.Event(), anyio.Event()
    send = store.signal

    async def slowly(*args: Any, **options: Any) -> bool:
        is_new = await send(*args, **options)
        sent.set()
        await go_on.wait()
        return is_new

    store.signal = slowly  # type: ignore[method-assign]  # to hold it up
    work = Chain("work", [gate.step, reads("a")])
    async with running(store, work) as runner, anyio.create_task_group() as group:
        run = await runner.start(work, run_id="r")
        await gate.entered.wait()
        group.start_soon(lambda: runner.signal("r", "note", Note(text="late")))
        await sent.wait()
        gate.open.set()
        assert (await run.result())["a"] == ["late"]
        go_on.set()


@pytest.mark.parametrize("via", ["runner", "store"])
async def test_a_step_that_has_looked_for_signals_runs_again_if_one_comes_before_the_run_has_ended(
    store: Store, via: str
) -> None:
    work = Chain("work", [reads("a")])
    door = Door(store, "commit")
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await door.reached.wait()
        if via == "runner":
            await runner.signal("r", "note", Note(text="late"))
        else:
            await store.signal("r", "note", b'{"text":"late"}')
        door.open.set()
        assert (await run.result())["a"] == ["late"]


async def test_a_run_whose_last_step_does_not_look_for_signals_ends_with_one_step(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [reads("a"), counted.adds("b")])
    door = Door(store, "commit", when=lambda commit: commit.closing is not None)
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await door.reached.wait()
        await runner.signal("r", "note", Note(text="late"))
        door.open.set()
        assert (await run.result())["a"] == []
        assert counted.calls == ["b"]


async def test_a_parked_run_stays_parked(store: Store) -> None:
    work = Chain("work", [Wait("ask"), reads("a")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await run.settled()
        await runner.signal("r", "note", Note(text="x"))
        await anyio.wait_all_tasks_blocked()
        assert await run.settled() is RunStatus.WAITING
        assert (await store.info("r")).status is RunStatus.WAITING
        assert run.waits == ("r/ask",)
        await runner.answer("r/ask", "yes")
        assert (await run.result())["a"] == ["x"]


async def test_one_that_a_receive_has_taken_is_read_all_the_same(store: Store) -> None:
    work = Chain("work", [Receive("note", expect=Note), reads("a")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await run.settled()
        await runner.signal("r", "note", Note(text="x"))
        assert (await run.result())["a"] == ["x"]


async def test_workers_read_them_too(store: Store) -> None:
    gate = Gate()

    async def each(item: int, context: StepContext) -> list[object]:
        return [item, [signal.value for signal in await context.signals("news")]]

    fan = Parallel("fan", step("each", each, signals={"news": None}), over="items")
    work = Chain("work", [gate.step, fan])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": [1, 2]}, run_id="r")
        await gate.entered.wait()
        await runner.signal("r", "news", {"n": 7})
        gate.open.set()
        assert (await run.result())["fan"] == [[1, [{"n": 7}]], [2, [{"n": 7}]]]


async def test_a_run_in_memory_is_sent_none() -> None:
    assert (await Chain("work", [reads("a")]).run())["a"] == []


async def test_only_signals_that_steps_say_they_take_are_sent_and_read(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, reads("a")])
    async with running(store, work) as runner:
        await runner.start(work, run_id="r")
        with pytest.raises(UnknownSignal, match="receives no signal 'other'; its workflow receives: note"):
            await runner.signal("r", "other")
        with pytest.raises(CannotStore):
            await runner.signal("r", "note", {"text": 1})
        gate.open.set()
    with pytest.raises(ChainError, match="receives no signal 'note'; its workflow receives: none"):
        await Chain("work", [step("a", read)]).run()


def test_a_signal_carries_the_same_wherever_it_is_read() -> None:
    other = step("b", read, signals={"note": int})
    with pytest.raises(DefinitionError, match="expects another type of signal 'note'"):
        Registry([Chain("work", [reads("a"), other])])
    Registry([Chain("work", [reads("a"), Receive("note", expect=Note)])])


async def test_a_read_that_fails_is_made_again(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step, reads("a")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r")
        await gate.entered.wait()
        await runner.signal("r", "note", Note(text="x"))
        signals, failed = store.signals, list[int]()

        async def fail_once(run_id: str, *, after: str = "", limit: int = 100) -> Page[SentSignal]:
            if not failed:
                failed.append(1)
                raise OSError("no")
            return await signals(run_id, after=after, limit=limit)

        store.signals = fail_once  # type: ignore[method-assign, assignment]  # to refuse
        gate.open.set()
        with pytest.raises(Exception, match="no"):
            await run.result()
        assert (await (await runner.resume("r")).result())["a"] == ["x"]
