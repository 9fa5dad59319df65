"""Whatever comes while a run is about to park is heard, and counts once: at any interleaving of the store's answers."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import cycle
from typing import Any

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st
from tests._examples import law
from tests.workflows._doors import Clock, Door
from tests.workflows._words import NOTHING, PATIENCE, Gate, Store, running

from stagepost.checkpoint import AlreadyAnswered, EffectNotFound, MemoryStore, RunNotOpen, RunStatus, WaitKind
from stagepost.workflows import (
    Chain,
    Parallel,
    PendingWait,
    Receive,
    RunCancelled,
    Runner,
    Sleep,
    State,
    StepContext,
    Wait,
    step,
)

QUICK = law(15, 400)
BACKEND = pytest.mark.parametrize("loop", ["asyncio", "trio"])
DELAYS = st.lists(st.integers(0, 9), min_size=1, max_size=23)

METHODS = (
    "claim",
    "commit",
    "wait",
    "park",
    "answer",
    "signal",
    "expire",
    "release",
    "settle",
    "waits",
    "load",
    "info",
)


def slow(delays: Sequence[int]) -> MemoryStore:
    """A store whose methods take so many turns of the loop, half of them before and half of them behind the deed."""
    store, turns = MemoryStore(), cycle(delays)

    def late(method: Any) -> Any:
        async def call(*arguments: object, **options: object) -> object:
            with anyio.CancelScope(shield=True):  # as of every store: what is saved is reported
                await _turns(turns)
                result = await method(*arguments, **options)
                await _turns(turns)
            return result

        return call

    for name in METHODS:
        setattr(store, name, late(getattr(store, name)))
    return store


async def _turns(turns: Iterator[int]) -> None:
    for _ in range(next(turns)):
        await checkpoint()


def waiting(happened: list[str]) -> Chain:
    """Waits of all kinds, one after the other and at once."""

    async def pay(value: object, context: StepContext) -> Mapping[str, object]:
        async def effect() -> None:
            happened.append(context.path)
            raise ConnectionError("cut")

        return {"paid": await context.once("pay", effect)}

    item = Chain("item", [Wait("ask", expect=int), Receive("sign", expect=int), step("pay", pay), Sleep("nap", 0)])
    return Chain(
        "work",
        [
            Wait("first", expect=int),
            Parallel("fan", item, over="items", workers=2),
            Parallel("plain", Wait("plain", expect=int), over="items", workers=1),
            Receive("last", expect=int),
        ],
    )


class Outside:
    """Everybody who answers, several at once, each with another value; notes whose counted."""

    def __init__(self, runner: Runner, at_once: int) -> None:
        self.counted: dict[str, list[int]] = {}
        self._runner = runner
        self._at_once = at_once
        self._values = iter(range(10**6))

    async def answer_for_ever(self) -> None:
        while True:
            async with anyio.create_task_group() as group:
                for wait in await self._runner.waits("r1"):
                    for _ in range(self._at_once):
                        group.start_soon(self._end, wait, next(self._values))
            await checkpoint()

    async def _end(self, wait: PendingWait, value: int) -> None:
        try:
            if wait.kind is WaitKind.ANSWER:
                await self._runner.answer(wait.id, value)
            elif wait.kind is WaitKind.SIGNAL:
                await self._runner.signal(wait.run_id, wait.name, value)
            elif wait.kind is WaitKind.EFFECT:
                await self._runner.settle(wait.run_id, wait.name, value=value, place=wait.place)
            else:
                return
        except (AlreadyAnswered, EffectNotFound, RunNotOpen):
            return
        self.counted.setdefault(wait.id, []).append(value)


async def answered_run(delays: Sequence[int], at_once: int) -> None:
    happened: list[str] = []
    work = waiting(happened)
    async with running(slow(delays), work) as runner, anyio.create_task_group() as group:
        run = await runner.start(work, {"items": [0, 1, 2]}, run_id="r1")
        outside = Outside(runner, at_once)
        group.start_soon(outside.answer_for_ever)
        result = await run.result()
        group.cancel_scope.cancel()
    counted = outside.counted
    assert sorted(happened) == [f"fan[{i}]/pay" for i in range(3)]
    assert all(len(values) == 1 for wait, values in counted.items() if not wait.endswith(("/sign", "/last")))
    assert [result["first"]] == counted["r1/first"]
    assert result["plain"] == [counted[f"r1/plain[{i}]:plain"][0] for i in range(3)]
    for index, value in enumerate(result["fan"]):
        assert [value["ask"]] == counted[f"r1/fan[{index}]/ask"]
        assert [value["paid"]] == counted[f"r1/fan[{index}]/pay"]
    signs = [value["sign"] for value in result["fan"]]
    assert len(set(signs)) == 3  # no signal is received twice


@BACKEND
@QUICK
@given(delays=DELAYS, at_once=st.integers(1, 3))
def test_each_wait_gets_the_one_answer_that_counted(loop: str, delays: list[int], at_once: int) -> None:
    anyio.run(answered_run, delays, at_once, backend=loop)


async def cancelled_run(delays: Sequence[int], turns: int) -> None:
    happened: list[str] = []
    work = waiting(happened)
    store = slow(delays)
    async with running(store, work) as runner, anyio.create_task_group() as group:
        run = await runner.start(work, {"items": [0, 1]}, run_id="r1")
        group.start_soon(Outside(runner, 1).answer_for_ever)
        for _ in range(turns):
            await checkpoint()
        try:
            await runner.cancel("r1")
        except RunNotOpen:
            await run.result()
        else:
            with pytest.raises(RunCancelled):
                await run.result()
            assert (await store.info("r1")).status is RunStatus.CANCELLED
        group.cancel_scope.cancel()
    assert len(set(happened)) == len(happened)


@BACKEND
@QUICK
@given(delays=DELAYS, turns=st.integers(0, 400))
def test_a_cancellation_at_any_moment_ends_the_run(loop: str, delays: list[int], turns: int) -> None:
    anyio.run(cancelled_run, delays, turns, backend=loop)


async def left_run(delays: Sequence[int], turns: Sequence[int]) -> None:
    """Each process is left after so many turns; answers go on."""
    happened: list[str] = []
    work = waiting(happened)
    store = slow(delays)
    async with running(store, work) as runner:
        await runner.start(work, {"items": [0, 1]}, run_id="r1")
    for count in (*turns, None):
        async with running(store, work, grace=0) as runner, anyio.create_task_group() as group:
            await runner.recover()
            group.start_soon(Outside(runner, 1).answer_for_ever)
            run = await runner.get("r1")
            if count is None:
                await run.result()
            else:
                for _ in range(count):
                    await checkpoint()
            group.cancel_scope.cancel()
    async with store:
        assert (await store.info("r1")).status is RunStatus.COMPLETED
    assert len(set(happened)) == len(happened)  # or not at all: it was in doubt, and somebody said that it was done


@BACKEND
@QUICK
@given(delays=DELAYS, turns=st.lists(st.integers(0, 250), max_size=4))
def test_a_runner_that_is_left_at_any_moment_loses_no_answer(loop: str, delays: list[int], turns: list[int]) -> None:
    anyio.run(left_run, delays, turns, backend=loop)


@pytest.mark.parametrize("behind", [True, False], ids=["behind the commit", "before the commit"])
@pytest.mark.parametrize("method", ["wait", "park"])
async def test_an_answer_while_the_run_parks_is_heard(store: Store, method: str, behind: bool) -> None:  # noqa: FBT001  # a parameter of the test
    gate = Gate()
    work = Chain("work", [gate.step, Wait("ask"), NOTHING])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        door = Door(store, method, behind=behind)
        gate.open.set()
        await door.reached.wait()
        if method == "wait" and not behind:
            with pytest.raises(LookupError):  # nobody waits yet
                await runner.answer("r1/ask", 1)
            door.open.set()
            await run.settled()
        await runner.answer("r1/ask", 1)
        await anyio.wait_all_tasks_blocked()
        door.open.set()
        assert (await run.result())["ask"] == 1


@pytest.mark.parametrize("method", ["claim", "load", "commit"])
@pytest.mark.parametrize("behind", [True, False], ids=["behind", "before"])
async def test_a_run_that_is_woken_can_be_cancelled_at_any_step_of_that(
    store: Store,
    method: str,
    behind: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    work = Chain("work", [Wait("ask"), NOTHING])
    async with running(store, work) as runner, anyio.create_task_group() as group:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        door = Door(store, method, behind=behind, when=_once())
        await runner.answer("r1/ask", 1)
        await door.reached.wait()
        group.start_soon(runner.cancel, "r1")
        await anyio.wait_all_tasks_blocked()
        door.open.set()
        with pytest.raises(RunCancelled):
            await run.result()
    async with store:
        assert (await store.info("r1")).status is RunStatus.CANCELLED


@pytest.mark.parametrize("method", ["claim", "load"])
@pytest.mark.parametrize("behind", [True, False], ids=["behind", "before"])
async def test_a_run_on_its_way_from_the_line_can_be_cancelled(store: Store, method: str, behind: bool) -> None:  # noqa: FBT001  # a parameter of the test
    gate = Gate()
    work, other = Chain("work", [gate.step]), Chain("other", [NOTHING])
    async with running(store, work, other, max_running=1) as runner, anyio.create_task_group() as group:
        await runner.start(work)
        run = await runner.start(other, run_id="r1")
        await gate.entered.wait()
        door = Door(store, method, behind=behind, when=_once())
        gate.open.set()
        await door.reached.wait()
        group.start_soon(runner.cancel, "r1")
        await anyio.wait_all_tasks_blocked()
        door.open.set()
        with pytest.raises(RunCancelled):
            await run.result()
        assert (await (await runner.start(other)).result()) == {}  # its slot is free again


async def test_whoever_attaches_to_a_run_that_is_answered_just_then_holds_it(store: Store) -> None:
    work = Chain("work", [Wait("ask"), NOTHING])
    async with running(store, work) as runner, anyio.create_task_group() as group:
        await (await runner.start(work, run_id="r1")).settled()
        door, results = Door(store, "create", behind=True), list[object]()

        async def attach() -> None:
            run = await runner.start(work, run_id="r1")
            results.append((await run.result())["ask"])

        group.start_soon(attach)
        await door.reached.wait()
        await store.answer("r1", "ask", b"1")
        door.open.set()
    assert results == [1]


def _once() -> Any:
    left = [True]

    def first(*_: object, **__: object) -> bool:
        return bool(left) and left.pop()

    return first


async def test_news_that_come_while_a_run_is_taken_up_reach_it(store: Store) -> None:
    """One item is answered, and a second one just when the run has been read but is not yet worked on."""
    gate = Gate()

    async def busy(state: State) -> None:
        if state["item"] == 0:
            await gate.pass_through(state)

    item = Chain("item", [Wait("ask"), busy])
    work = Chain("work", [Parallel("fan", item, over="items", workers=2)])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": [0, 1]}, run_id="r1")
        await run.settled()
        door = Door(store, "load", behind=True, when=_once())
        await runner.answer("r1/fan[0]/ask", 1)
        await door.reached.wait()
        await runner.answer("r1/fan[1]/ask", 1)
        await anyio.wait_all_tasks_blocked()
        door.open.set()
        await gate.entered.wait()
        with fail_after(PATIENCE / 2):
            while not any(found.status == "ok" for found in (await store.load("r1")).items):
                await checkpoint()
        gate.open.set()
        await run.result()


@pytest.mark.parametrize("method", ["answer", "signal", "expire", "release"])
async def test_run_that_is_let_go_on_at_this_moment_is_held(method: str) -> None:
    clock, store = Clock(), MemoryStore()
    inner = Chain("inner", [Wait("ask", expect=int)])

    async def start_inner(state: State, context: StepContext) -> None:
        await context.child(inner, "kid", {})

    steps = {
        "answer": Wait("ask", expect=int),
        "signal": Receive("sign", expect=int),
        "expire": Sleep("nap", 60),
        "release": step(start_inner),
    }
    work = Chain("work", [steps[method]], companions=[inner])
    first = clock()
    door = Door(store, method, behind=True, when=lambda *_, **__: clock() > first)
    with fail_after(PATIENCE):
        async with running(store, work, clock=clock) as runner, anyio.create_task_group() as group:
            await (await runner.start(work, run_id="r1")).settled()
            clock.pass_(timedelta(minutes=2))
            if method == "expire":
                group.start_soon(runner.recover)
            elif method == "signal":
                group.start_soon(runner.signal, "r1", "sign", 1)
            else:
                (wait,) = await runner.waits("r1")
                group.start_soon(runner.answer, wait.id, 1)
            await door.reached.wait()
            group.start_soon(open_soon, door)
            assert await (await runner.get("r1")).settled() is RunStatus.COMPLETED


async def open_soon(door: Door) -> None:
    for _ in range(20):  # those who look for the run have found nobody by then
        await checkpoint()
    door.open.set()


@pytest.mark.parametrize("_", range(10))
async def test_a_run_that_is_answered_while_it_goes_on_rests_afterwards(_: int, store: Store) -> None:
    both = Parallel("both", Wait("approval"), over=lambda _: [1, 2])
    work = Chain("work", [both, Wait("consent")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await run.settled()
        for wait in run.waits:
            await runner.answer(wait, "yes")
        with fail_after(PATIENCE):
            while (run := await runner.get("r1")).waits != ("r1/consent",):
                await run.settled()
        await runner.answer("r1/consent", "yes")
        assert await run.settled() is RunStatus.COMPLETED
