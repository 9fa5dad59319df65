"""Effects happen at most once, and a run that does not know whether one has happened waits for word."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.workflows._words import Counted, Gate, Recorder, Store, running

from stagepost.checkpoint import CannotStore, EffectNotFound, EffectStatus, RunNotFound, RunNotOpen, RunStatus, WaitKind
from stagepost.workflows import (
    Chain,
    ChainError,
    Conditional,
    EffectNotDone,
    EffectUnderWay,
    Graph,
    OutcomeUnknown,
    Parallel,
    Pattern,
    Retry,
    Run,
    RunFailed,
    RunnerStopped,
    State,
    StepContext,
    step,
)


class Receipt(BaseModel):
    number: int


class Declined(Exception):
    """Nothing was paid."""


class World:
    """What effects change: a list of what happened, and how often something was tried."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self.errors: list[Exception] = []

    def effect(self, what: str = "paid", value: object = 7) -> Callable[[], Any]:
        """Note that it happened, and return something or raise the next error."""

        async def happen() -> object:
            self.happened.append(what)
            if self.errors:
                raise self.errors.pop(0)
            return value

        return happen


def pays(world: World, **options: Any) -> Any:
    """A step with one effect."""

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", world.effect(), **options)}

    return step("pay", pay)


async def in_doubt(run: Run, *waits: str) -> None:
    """See that a run waits for word of effects."""
    assert await run.settled() is RunStatus.WAITING
    assert run.waits == waits


async def test_whoever_settles_an_effect_is_shown_what_it_is_about(store: Store) -> None:
    world = World()
    world.errors = [OSError("cut")]
    work = Chain("work", [pays(world, show=Receipt(number=3))])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
        (wait,) = await runner.waits(kind=WaitKind.EFFECT)
        assert wait.shown == {"number": 3}
        await runner.settle("r1", "pay", value=7)
        await run.result()


async def test_what_cannot_be_shown_is_refused_before_the_effect_has_begun(store: Store) -> None:
    world = World()
    work = Chain("work", [pays(world, show={"key": "open-sesame"})])
    async with running(store, work, secrets={"key": "open-sesame"}) as runner:
        with pytest.raises(RunFailed, match=r"what pay shows.*secret 'key'"):
            await (await runner.start(work, run_id="r1")).result()
        assert (await store.load("r1")).effects == ()
    assert world.happened == []


async def test_a_step_that_runs_again_gets_what_the_effect_returned(store: Store) -> None:
    world, counted = World(), Counted()
    mended: list[bool] = []

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        counted.calls.append("pay")
        receipt = await context.once("pay", world.effect(value=Receipt(number=1)), expect=Receipt)
        if not mended:
            raise ValueError("broken behind the effect")
        return {"number": receipt.number}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunFailed, match="broken behind the effect"):
            await run.result()
        mended.append(True)
        assert (await (await runner.resume("r1")).result())["number"] == 1
    assert (world.happened, counted.calls) == (["paid"], ["pay", "pay"])


async def test_what_is_returned_has_its_stored_form(store: Store) -> None:
    world = World()

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        pair = await context.once("pair", world.effect(value=(1, 2)))
        return {"kind": type(pair).__name__, "pair": pair}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        stored = await (await runner.start(work)).result()
    assert stored == await work.run() == {"kind": "FrozenList", "pair": [1, 2]}


async def test_an_effect_may_be_a_plain_function(store: Store) -> None:
    async def count(state: State, context: StepContext) -> Mapping[str, object]:
        return {"n": await context.once("count", lambda: 3)}

    work = Chain("work", [count])
    async with running(store, work) as runner:
        assert (await (await runner.start(work)).result())["n"] == 3


async def test_a_step_in_a_thread_has_effects_too(store: Store) -> None:
    world = World()

    def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": anyio.from_thread.run(partial(context.once, "pay", world.effect()))}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        assert (await (await runner.start(work)).result())["paid"] == 7
    assert world.happened == ["paid"]


async def test_each_step_visit_and_item_has_effects_of_its_own(store: Store) -> None:
    world = World()

    async def charge(item: int, context: StepContext) -> object:
        return await context.once("charge", world.effect(f"item {item}", item))

    async def turn(state: State, context: StepContext) -> Mapping[str, object]:
        rounds = state.get("rounds", 0) + 1
        await context.once("charge", world.effect(f"round {rounds}"))
        return {"rounds": rounds}

    async def add(state: State, item: int, context: StepContext) -> Mapping[str, object]:
        await context.once("charge", world.effect(f"folded {item}"))
        return {}

    async def route(state: State, context: StepContext) -> str:
        await context.once("charge", world.effect("route"))
        return "there"

    graph = Graph("graph")
    graph.add("fan", Parallel("fan", step("charge", charge), over="items", workers=1))
    graph.add("turn", turn)
    graph.add("end", Conditional("end", route, {"there": step("same", turn)}))
    graph.edge("fan", "turn")
    graph.edge("turn", "fan", when=lambda state: state["rounds"] < 2)
    graph.edge("turn", "end")
    graph.start("fan")
    graph.finish("end")
    items = Parallel("inners", Chain("inner", [_charging(world)]), over="items", workers=1)
    work = Chain("work", [graph, items, Chain.fold("fold", add, over="items")])
    async with running(store, work) as runner:
        await (await runner.start(work, {"items": [1, 2]})).result()
    assert world.happened == [
        *["item 1", "item 2", "round 1", "item 1", "item 2", "round 2", "route", "round 3"],
        *["inner 1", "inner 2", "folded 1", "folded 2"],
    ]


def _charging(world: World) -> Any:
    async def charge(state: State, context: StepContext) -> Mapping[str, object]:
        await context.once("charge", world.effect(f"inner {state['item']}"))
        return {}

    return step("charge", charge)


@pytest.mark.parametrize("error", [EffectNotDone(), Declined()], ids=["EffectNotDone", "not_done="])
async def test_an_effect_that_has_not_happened_may_be_tried_again(store: Store, error: Exception) -> None:
    world = World()
    world.errors = [error]
    work = Chain("work", [pays(world, not_done=Declined)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunFailed, match=type(error).__name__):
            await run.result()
        assert (await store.load("r1")).effects == ()
        assert (await (await runner.resume("r1")).result())["paid"] == 7
    assert world.happened == ["paid", "paid"]


async def test_a_retry_repeats_what_has_not_happened_and_nothing_else(store: Store) -> None:
    world = World()
    world.errors = [EffectNotDone(), ConnectionError("cut")]

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", world.effect())}

    work = Chain("work", [step(pay, retry=Retry(attempts=5, first=0, most=0, jitter=0))])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
    assert world.happened == ["paid", "paid"]


async def test_a_run_in_doubt_parks_and_goes_on_with_the_value_that_it_is_told(store: Store) -> None:
    world = World()
    world.errors = [ConnectionError("cut")]
    work = Chain("work", [pays(world, expect=Receipt)], types={"paid": Receipt})
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
        (wait,) = await runner.waits(kind=WaitKind.EFFECT)
        assert (wait.id, wait.name, wait.run_id) == ("r1/pay", "pay", "r1")
        await runner.settle("r1", "pay", value=Receipt(number=5))
        assert (await run.result())["paid"] == Receipt(number=5)
        assert await runner.waits() == ()
    assert world.happened == ["paid"]


async def test_a_run_in_doubt_does_it_when_it_is_told_that_it_has_not_happened(store: Store) -> None:
    world = World()
    world.errors = [ConnectionError("cut"), ConnectionError("cut again")]
    work = Chain("work", [pays(world)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        for _ in range(2):
            await in_doubt(run, "r1/pay")
            await runner.settle("r1", "pay", retry=True)
        assert (await run.result())["paid"] == 7
    assert world.happened == ["paid"] * 3


@pytest.mark.parametrize("retry", [True, False], ids=["retry", "value"])
async def test_another_process_may_settle(store: Store, retry: bool) -> None:  # noqa: FBT001  # a parameter of the test
    world = World()
    world.errors = [ConnectionError("cut")]
    work = Chain("work", [pays(world)])
    async with running(store, work) as runner:
        await in_doubt(await runner.start(work, run_id="r1"), "r1/pay")
    async with running(store, work) as runner:
        await runner.recover()
        await runner.settle("r1", "pay", **({"retry": True} if retry else {"value": 8}))
        assert (await (await runner.get("r1")).result())["paid"] == (7 if retry else 8)
    assert len(world.happened) == 1 + retry


async def test_none_is_a_value_to_settle_with(store: Store) -> None:
    world = World()
    world.errors = [ConnectionError("cut")]
    work = Chain("work", [pays(world)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
        await runner.settle("r1", "pay")
        assert (await run.result())["paid"] is None


async def test_a_word_of_nothing_in_doubt_is_refused(store: Store) -> None:
    world = World()
    world.errors = [ConnectionError("cut")]
    work = Chain("work", [pays(world)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
        with pytest.raises(EffectNotFound, match="'buy'"):
            await runner.settle("r1", "buy", retry=True)
        with pytest.raises(EffectNotFound):
            await runner.settle("r1", "pay", retry=True, place="elsewhere")
        with pytest.raises(ValueError, match="got both"):
            await runner.settle("r1", "pay", value=1, retry=True)
        with pytest.raises(CannotStore):
            await runner.settle("r1", "pay", value=object())
        with pytest.raises(RunNotFound):
            await runner.settle("r2", "pay", retry=True)
        await in_doubt(run, "r1/pay")
        await runner.settle("r1", "pay", value=1)
        await run.result()
        with pytest.raises((EffectNotFound, RunNotOpen)):
            await runner.settle("r1", "pay", value=2)
    assert world.happened == ["paid"]


@pytest.mark.parametrize(
    "swallow",
    [
        lambda pay: step("pay", _swallowing(pay)),
        lambda pay: step("pay", pay, catch=Exception, into="error"),
        lambda pay: step("pay", _in_a_group(pay)),
        lambda pay: step("pay", _failing_otherwise(pay)),
    ],
    ids=["except", "catch=", "task group", "another error"],
)
async def test_whatever_the_step_makes_of_it_the_run_parks(store: Store, swallow: Any) -> None:
    world = World()
    world.errors = [ConnectionError("cut")]

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", world.effect())}

    work = Chain("work", [swallow(pay)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
        await runner.settle("r1", "pay", value=3)
        assert dict(await run.result()) == {"paid": 3}
    assert world.happened == ["paid"]


def _swallowing(pay: Any) -> Any:
    async def call(state: State, context: StepContext) -> Any:
        try:
            return await pay(state, context)
        except Exception:  # noqa: BLE001  # that is the point
            return {"paid": "perhaps"}

    return call


def _in_a_group(pay: Any) -> Any:
    async def call(state: State, context: StepContext) -> Any:
        found: list[Any] = []

        async def one() -> None:
            found.append(await pay(state, context))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
        return found[0]

    return call


def _failing_otherwise(pay: Any) -> Any:
    async def call(state: State, context: StepContext) -> Any:
        try:
            return await pay(state, context)
        except OutcomeUnknown as error:
            raise KeyError("something else") from error

    return call


@pytest.mark.parametrize("leave", ["timeout", "scope"])
async def test_an_effect_that_was_cancelled_half_way_is_in_doubt(store: Store, leave: str) -> None:
    world, seen = World(), list[str]()

    async def half() -> None:
        world.happened.append("half")
        await anyio.sleep_forever()

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        with anyio.move_on_after(0.01 if leave == "scope" else None):
            return {"paid": await context.once("pay", half)}
        seen.append("left")
        return {"paid": "perhaps"}

    work = Chain("work", [step(pay, timeout=None if leave == "scope" else 0.01)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
        await runner.settle("r1", "pay", value="yes")
        assert dict(await run.result()) == {"paid": "yes"}
    assert (world.happened, seen) == (["half"], ["left"] if leave == "scope" else [])


async def test_an_effect_that_ends_while_the_runner_is_left_counts(store: Store) -> None:
    gate, world = Gate(), World()

    async def slow() -> str:
        await gate.pass_through(None)
        world.happened.append("done")
        return "done"

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", slow)}

    work = Chain("work", [pay])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    assert gate.cancelled
    async with running(store, work) as runner:
        (run,) = (await runner.recover()).resumed
        await in_doubt(run, "r1/pay")
        await runner.settle("r1", "pay", value="done")
        assert (await run.result())["paid"] == "done"
    assert gate.calls == 1


async def test_two_effects_in_doubt_are_asked_about_one_after_the_other(store: Store) -> None:
    world = World()
    world.errors = [ConnectionError("cut"), ConnectionError("cut")]

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        found: dict[str, object] = {}

        async def one(key: str) -> None:
            found[key] = await context.once(key, world.effect(key, key))

        async with anyio.create_task_group() as group:
            group.start_soon(one, "first")
            group.start_soon(one, "second")
        return found

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        settled = set()
        for _ in range(2):
            await in_doubt(run, "r1/pay")
            (wait,) = await runner.waits()
            settled.add(wait.name)
            await runner.settle("r1", wait.name, value="told")
        result = await run.result()
    assert settled <= {"first", "second"}
    assert sorted(world.happened) == ["first", "second"]
    assert set(result) == {"first", "second"}


@pytest.mark.parametrize("kind", ["plain", "pattern", "branches"])
async def test_items_in_doubt_let_the_others_go_on(store: Store, kind: str) -> None:
    world, counted = World(), Counted()

    async def charge(item: int, context: StepContext) -> object:
        async def effect() -> int:
            world.happened.append(f"item {item}")
            if item == 1:
                raise ConnectionError("cut")
            return item

        return {"paid": await context.once("charge", effect)}

    async def of_state(state: State, context: StepContext) -> Any:
        return await charge(state["item"], context)

    fan: Pattern
    place = "fan[{}]/charge"
    if kind == "plain":
        fan, place = Parallel("fan", step("charge", charge), over="items", workers=1), "fan[{}]"
    elif kind == "pattern":
        fan = Parallel("fan", Chain("item", [step("charge", of_state)]), over="items", workers=1)
    else:

        def branch(item: int) -> Any:
            async def call(state: State, context: StepContext) -> Any:
                return {f"b{item}": await charge(item, context)}

            return Chain(f"c{item}", [step("charge", call)])

        fan = Parallel("fan", {f"b{item}": branch(item) for item in range(3)})
    place = place.format(1)
    work = Chain("work", [fan, counted.adds("end")])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": [0, 1, 2]}, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        (wait,) = await runner.waits()
        assert sorted(world.happened) == ["item 0", "item 1", "item 2"]
        await runner.settle("r1", "charge", value=11, place=wait.id.partition("/")[2])
        result = await run.result()
    assert wait.id == f"r1/{place}"
    assert sorted(world.happened) == ["item 0", "item 1", "item 2"]
    found = [result[f"b{i}"]["paid"] for i in range(3)] if kind == "branches" else [v["paid"] for v in result["fan"]]
    assert found == [0, 11, 2]


async def test_a_word_about_one_key_in_several_items_needs_the_place(store: Store) -> None:
    world = World()

    async def charge(item: int, context: StepContext) -> object:
        world.errors = [ConnectionError("cut")]
        return await context.once("charge", world.effect(f"item {item}", item))

    work = Chain("work", [Parallel("fan", step("charge", charge), over="items", workers=1)])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": [0, 1]}, run_id="r1")
        await in_doubt(run, "r1/fan[0]", "r1/fan[1]")
        with pytest.raises(ValueError, match=r"in doubt at fan\[0\], fan\[1\]: give place= too"):
            await runner.settle("r1", "charge", value=1)
        await runner.settle("r1", "charge", value="a", place="fan[0]")
        await in_doubt(run, "r1/fan[1]")
        await runner.settle("r1", "charge", value="b")
        assert (await run.result())["fan"] == ["a", "b"]
    assert world.happened == ["item 0", "item 1"]


@pytest.mark.parametrize("retry", [True, False], ids=["retry", "value"])
async def test_a_word_that_comes_while_other_items_go_on_is_heard(store: Store, retry: bool) -> None:  # noqa: FBT001  # a parameter of the test
    """The run never rests, so it learns of what was settled while it is in memory."""
    world, gate = World(), Gate()

    async def charge(item: int, context: StepContext) -> object:
        if item:
            return await gate.pass_through(None)
        if not world.happened:
            world.errors = [ConnectionError("cut")]
        return await context.once("charge", world.effect(f"item {item}", "done"))

    recorder = Recorder()
    work = Chain("work", [Parallel("fan", step("charge", charge), over="items", workers=2)])
    async with running(store, work, observer=recorder) as runner:
        run = await runner.start(work, {"items": [0, 1]}, run_id="r1")
        await gate.entered.wait()
        while not (waits := await runner.waits()):
            await anyio.lowlevel.checkpoint()
        assert [wait.id for wait in waits] == ["r1/fan[0]"]
        await runner.settle("r1", "charge", **({"retry": True} if retry else {"value": "told"}))
        while not any(item.status == "ok" for item in (await store.load("r1")).items):
            await anyio.lowlevel.checkpoint()
        assert await runner.waits() == ()
        gate.open.set()
        assert (await run.result())["fan"] == ["done" if retry else "told", None]
    assert len(world.happened) == 1 + retry
    assert "RunEnded" not in recorder.names[:-1]


async def test_on_unknown_finds_out(store: Store) -> None:
    world, asked = World(), list[str]()
    world.errors = [ConnectionError("cut")]

    async def look() -> int:
        asked.append("look")
        return 9

    work = Chain("work", [step("pay", _failing_once(pays(world, on_unknown=look)))])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")  # the first time there was nothing to find out about: it raised
        await runner.settle("r1", "pay", value=1)
        await run.result()
    assert (world.happened, asked) == (["paid"], [])


def _failing_once(pay: Any) -> Any:
    async def call(state: State, context: StepContext) -> Any:
        return await pay.call(state, context)

    return call


@pytest.mark.parametrize(
    ("answer", "result", "happened"),
    [(9, 9, 1), (EffectNotDone(), 7, 2)],
    ids=["it has", "it has not"],
)
async def test_a_restarted_step_asks_on_unknown(store: Store, answer: object, result: int, happened: int) -> None:
    gate, world = Gate(), World()

    async def first() -> int:
        world.happened.append("paid")
        if len(world.happened) == 1:
            await gate.pass_through(None)
        return 7

    async def look() -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", first, on_unknown=look, not_done=(Declined,))}

    work = Chain("work", [pay])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    gate.open.set()
    async with running(store, work) as runner:
        (run,) = (await runner.recover()).resumed
        assert (await run.result())["paid"] == result
    assert len(world.happened) == happened


@pytest.mark.parametrize("error", [ConnectionError("the bank is closed"), Declined()], ids=["any", "not_done="])
async def test_an_on_unknown_that_fails_leaves_it_in_doubt(store: Store, error: Exception) -> None:
    """An error of its own is no word about the effect, also if the effect's would be."""
    gate, world = Gate(), World()

    async def first() -> int:
        world.happened.append("paid")
        await gate.pass_through(None)
        return 7

    async def look() -> int:
        raise error

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", first, on_unknown=look, not_done=Declined)}

    work = Chain("work", [pay])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="r1")
        await gate.entered.wait()
    async with running(store, work) as runner:
        (run,) = (await runner.recover()).resumed
        await in_doubt(run, "r1/pay")
        await runner.settle("r1", "pay", value=7)
        await run.result()
    assert world.happened == ["paid"]


async def test_what_an_effect_returns_must_have_a_stored_form_or_it_is_in_doubt(store: Store) -> None:
    world = World()

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", world.effect(value=object()))}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
        await runner.settle("r1", "pay", value="it did")
        assert (await run.result())["paid"] == "it did"
    assert world.happened == ["paid"]


async def test_one_key_twice_at_the_same_time_is_refused(store: Store) -> None:
    gate, world = Gate(), World()

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(context.once, "pay", partial(gate.pass_through, None)))
            await gate.entered.wait()
            with pytest.raises(EffectUnderWay, match="'pay'"):
                await context.once("pay", world.effect())
            gate.open.set()
        return {"paid": await context.once("pay", world.effect())}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        assert (await (await runner.start(work)).result())["paid"] is None
    assert (world.happened, gate.calls) == ([], 1)


async def test_a_key_is_a_name() -> None:
    async def pay(state: State, context: StepContext) -> None:
        await context.once("no key, this", lambda: 1)

    with pytest.raises(ChainError, match="effect key"):
        await Chain("work", [pay]).run()


async def test_in_memory_an_effect_in_doubt_fails_the_run() -> None:
    world = World()
    world.errors = [ConnectionError("cut")]
    with pytest.raises(ChainError, match="OutcomeUnknown") as failed:
        await Chain("work", [pays(world)]).run()
    assert isinstance(failed.value.__cause__, OutcomeUnknown)
    assert isinstance(failed.value.__cause__.__cause__, ConnectionError)
    assert world.happened == ["paid"]


async def test_in_memory_a_retry_does_not_repeat_it_either() -> None:
    world = World()
    world.errors = [ConnectionError("cut")]

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", world.effect())}

    with pytest.raises(ChainError, match="OutcomeUnknown"):
        await Chain("work", [step(pay, retry=Retry(attempts=3, first=0, most=0, jitter=0))]).run()
    assert world.happened == ["paid"]


async def test_intent_and_outcome_are_commits_of_their_own(store: Store) -> None:
    found: list[object] = []

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        async def effect() -> int:
            found.append([(e.status, e.value) for e in (await store.load("r1")).effects])
            return 7

        await context.once("pay", effect)
        found.append([(e.status, e.value) for e in (await store.load("r1")).effects])
        return {}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).result()
    assert found == [[(EffectStatus.INTENT, None)], [(EffectStatus.DONE, b"7")]]


async def test_a_run_that_is_cancelled_in_the_middle_of_an_effect_does_not_park(store: Store) -> None:
    gate = Gate()

    async def pay(state: State, context: StepContext) -> Mapping[str, object]:
        return {"paid": await context.once("pay", partial(gate.pass_through, None))}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        await runner.cancel("r1")
        assert run.status is RunStatus.CANCELLED
        assert (await store.info("r1")).status is RunStatus.CANCELLED
        assert await runner.waits() == ()


async def test_an_effect_of_a_fan_out_that_fails_beside_it_is_in_doubt_when_it_is_resumed(store: Store) -> None:
    gate, world, mended = Gate(), World(), list[bool]()

    async def half() -> None:
        world.happened.append("half")
        await gate.pass_through(None)

    async def charge(item: int, context: StepContext) -> object:
        if item == 0:
            return await context.once("charge", half)
        await gate.entered.wait()
        if not mended:
            raise ValueError("the other item")
        return item

    work = Chain("work", [Parallel("fan", step("charge", charge), over="items", workers=2)])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": [0, 1]}, run_id="r1")
        with pytest.raises(RunFailed, match="the other item"):
            await run.result()
        mended.append(True)
        run = await runner.resume("r1")
        await in_doubt(run, "r1/fan[0]")
        await runner.settle("r1", "charge", value="told")
        assert (await run.result())["fan"] == ["told", 1]
    assert world.happened == ["half"]


async def test_a_handle_of_a_run_in_doubt_hears_that_the_runner_was_left(store: Store) -> None:
    world = World()
    world.errors = [ConnectionError("cut")]
    work = Chain("work", [pays(world)])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await in_doubt(run, "r1/pay")
    with pytest.raises(RunnerStopped):
        await run.result()
