"""New runs that go on where another one stands, or has stood."""

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import BaseModel
from tests.workflows._specimens import NAMES, specimens
from tests.workflows._words import NOTHING, Counted, Gate, Store, leave_at, nothing, running, until

from stagepost.checkpoint import (
    CannotStore,
    Continued,
    MemoryStore,
    NotInHistory,
    RunNotFound,
    RunStatus,
    StaleCheckpoint,
    ValueTooLarge,
)
from stagepost.workflows import (
    Append,
    Chain,
    EffectsAgain,
    ForkRefused,
    Graph,
    IncompatibleCheckpoint,
    Parallel,
    RunCancelled,
    RunConflict,
    RunFailed,
    Runner,
    State,
    StepContext,
    UnknownWorkflow,
    Wait,
    step,
)

LOG: Mapping[str, Any] = {"log": Annotated[list[Any], Append]}


@pytest.mark.in_turns
@pytest.mark.parametrize("name", NAMES)
async def test_fork_determinism_a_fork_at_any_number_ends_as_its_original(name: str) -> None:
    notes: list[str] = []
    specimen = specimens(notes.append)[name]
    async with running(MemoryStore(), specimen.workflow, keep="all") as runner:
        expected = await (await runner.start(specimen.workflow, specimen.state, run_id="origin")).result()
        steps, before = set(notes), await runner.store.load("origin")
        last = (await runner.store.history("origin", limit=10_000)).items[-1].number
        for number in range(1, last + 1):
            notes.clear()
            fork = await runner.fork("origin", at=number)
            assert await fork.result() == expected, number
            assert set(notes) <= steps
        assert not notes  # the last number is that of the end
        assert await runner.store.load("origin") == before
        assert not await runner.store.check()


async def test_a_fork_of_a_failed_run_tries_again_what_failed_and_the_run_stays_failed(store: Store) -> None:
    counted, mended = Counted(), list[bool]()
    work = Chain("work", [counted.adds("a"), counted.fails("b", lambda: bool(mended)), counted.adds("c")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="origin", key="once", labels={"customer": "7"})
        with pytest.raises(RunFailed):
            await run.result()
        mended.append(True)
        fork = await runner.fork("origin", labels={"why": "again"})
        assert (await fork.result())["path"] == ["a", "c"]
        info = await store.info(fork.id)
        assert (await store.info("origin")).status is RunStatus.FAILED
    assert counted.calls == ["a", "b", "b", "c"]
    assert (info.key, info.labels) == (None, {"customer": "7", "why": "again"})
    assert (info.forked_from, info.forked_at, info.trace) == ("origin", None, None)


async def test_a_fork_begins_with_other_values_in_the_place_of_those_of_the_state(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [counted.adds("a"), counted.adds("b"), counted.adds("c")], types=LOG)
    async with running(store, work, keep="all") as runner:
        await (await runner.start(work, {"log": [1], "n": 1}, run_id="origin")).result()
        counted.calls.clear()
        fork = await runner.fork("origin", at="a", changes={"path": ["x"], "log": [2, 3], "big": "x" * 5000})
        result = await fork.result()
        assert counted.calls == ["b", "c"]
        assert (result["path"], result["log"], result["n"]) == (["x", "b", "c"], [2, 3], 1)
        assert (await store.info(fork.id)).forked_at == 2
        assert await (await runner.fork("origin", changes={"n": 2}, run_id="ended")).result() == {
            **dict(await (await runner.get("origin")).result()),
            "n": 2,
        }
    async with store:
        assert not await store.check()


async def test_lists_are_shared_and_each_run_goes_on_with_its_own(store: Store) -> None:
    gate = Gate(updates={"log": ["gate"]})
    adds = step("adds", lambda state: {"log": [f"{len(state['log'])}"]}, inline=True)
    work = Chain("work", [adds, gate.step, adds.__class__("last", adds.call)], types=LOG)
    given = [f"given {number}" for number in range(200)]
    async with running(store, work) as runner:
        run = await runner.start(work, {"log": given}, run_id="origin")
        await gate.entered.wait()
        fork = await runner.fork("origin", changes={"mine": 1})
        shared = await runner.fork("origin", changes={"log": Continued("origin", 2, then=["other"])})
        rows = await store.query("SELECT count(*) FROM elements")
        gate.open.set()
        assert list((await run.result())["log"]) == [*given, "200", "gate", "202"]
        assert list((await fork.result())["log"]) == [*given, "200", "gate", "202"]
        assert list((await shared.result())["log"]) == [*given[:2], "other", "gate", "4"]
        assert rows == [(202,)]  # what was given, what was added, and what the last fork begins with of its own
        await store.delete("origin")
        assert list((await runner.runs.get(fork.id)).state["log"])[-4:] == [given[-1], "200", "gate", "202"]
        assert not await store.check()


async def test_large_values_of_a_fork_are_its_own(store: Store) -> None:
    work = Chain("work", [step("large", lambda _: {"text": "x" * 9000}, inline=True), NOTHING])
    async with running(store, work, keep="all") as runner:
        await (await runner.start(work, run_id="origin")).result()
        fork = await runner.fork("origin", at=2)
        await fork.result()
        other = await runner.fork("origin", at=2, changes={"text": "short"})
        assert (await other.result())["text"] == "short"
        await store.delete("origin")
        assert (await runner.runs.get(fork.id)).state["text"] == "x" * 9000
        assert not await store.check()


class Model(BaseModel):
    number: int = 0
    log: Annotated[list[str], Append] = []


async def test_changes_are_checked_as_what_a_run_starts_with(store: Store) -> None:
    work = Chain("work", [step("add", lambda _: {"log": ["one"]}, inline=True), NOTHING], state=Model)
    async with running(store, work, keep="all", secrets={"key": "open-sesame"}) as runner:
        await (await runner.start(work, run_id="origin")).result()
        assert await (await runner.fork("origin", at=2, changes={"number": 3, "log": ["x"]})).result() == Model(
            number=3, log=["x"]
        )
        for changes, why in (
            ({"number": "many"}, "number"),
            ({"other": 1}, "no field other"),
            ({"log": ["open-sesame"]}, "secret 'key'"),
            ({"number": Continued("origin", 1)}, "list that grows"),
        ):
            with pytest.raises(CannotStore, match=why):
                await runner.fork("origin", at=2, changes=changes)
        assert len((await store.find()).items) == 2


async def test_changes_that_are_too_large_are_refused() -> None:
    work = Chain("work", [NOTHING])
    async with running(MemoryStore(max_value=100), work) as runner:
        await (await runner.start(work, run_id="origin")).result()
        with pytest.raises(ValueTooLarge, match="changes of a fork"):
            await runner.fork("origin", changes={"text": "x" * 200})


async def test_items_that_went_well_are_kept_and_the_others_run_again(store: Store) -> None:
    gate, calls = Gate(), list[int]()

    async def double(item: int) -> int:
        calls.append(item)
        if item == 2 and len(calls) < 4:
            await gate.pass_through(item)
        if item == 3 and len(calls) < 4:
            raise ValueError("three")
        return 2 * item

    fan = Parallel("fan", double, over="items", into="doubled", failures="bad", workers=3)
    work = Chain("work", [fan])
    async with running(store, work) as runner:
        run = await runner.start(work, {"items": [1, 2, 3]}, run_id="origin")
        await gate.entered.wait()
        while any(item.status == "waiting" for item in (await store.load("origin")).items if item.idx != 1):
            await until(lambda: True)
        fork = await runner.fork("origin")
        result = await fork.result()
        assert (result["doubled"], result["bad"]) == ([2, 4, 6], [])
        assert sorted(calls) == [1, 2, 2, 3, 3]
        gate.open.set()
        assert (await run.result())["doubled"] == [2, 4]


def failing(broken: set[int], **options: Any) -> tuple[Chain, list[int]]:
    """A workflow with a fan-out of which some items fail."""
    calls: list[int] = []

    def invert(item: int) -> float:
        calls.append(item)
        if item in broken:
            raise ValueError(f"{item} is broken")
        return 1 / item

    fan = Parallel("fan", step("invert", invert, inline=True), over="items", into="inverse", **options)
    return Chain("work", [NOTHING, fan, step("after", nothing, inline=True)]), calls


async def test_retry_items_runs_those_again_that_failed_where_failures_are_collected(store: Store) -> None:
    broken = {2, 4}
    work, calls = failing(broken, failures="bad")
    async with running(store, work, keep="all") as runner:
        first = await (await runner.start(work, {"items": [1, 2, 4]}, run_id="origin")).result()
        assert [bad["index"] for bad in first["bad"]] == [1, 2]
        broken.discard(2)
        calls.clear()
        second = await runner.retry_items("origin", path="fan", labels={"try": "2"})
        assert (await second.result())["inverse"] == [1, 0.5]
        assert sorted(calls) == [2, 4]
        broken.clear()
        calls.clear()
        third = await runner.retry_items(second.id)
        assert (await third.result())["inverse"] == [1, 0.5, 0.25]
        assert calls == [4]
        with pytest.raises(ForkRefused, match="no item has failed"):
            await runner.retry_items(third.id)


async def test_retry_items_of_a_run_that_has_failed_at_its_fan_out(store: Store) -> None:
    broken = {2}
    work, calls = failing(broken, workers=1)
    async with running(store, work) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(work, {"items": [1, 2, 4]}, run_id="origin")).result()
        broken.clear()
        fork = await runner.retry_items("origin")
        assert (await fork.result())["inverse"] == [1, 0.5, 0.25]
    assert calls == [1, 2, 2, 4]


async def test_retry_items_says_what_to_keep_if_the_items_are_gone(store: Store) -> None:
    work, _ = failing({2}, failures="bad")
    async with running(store, work) as runner:
        await (await runner.start(work, {"items": [1, 2]}, run_id="origin")).result()
        with pytest.raises(ForkRefused, match="keep='all'"):
            await runner.retry_items("origin")


async def test_retry_items_of_a_worker_that_is_a_pattern_goes_on_where_it_failed(store: Store) -> None:
    counted, mended = Counted(), list[bool]()
    item = Chain("item", [counted.adds("one"), counted.fails("two", lambda: bool(mended)), counted.adds("three")])
    work = Chain("work", [Parallel("fan", item, over="items", into="out", failures="bad", may_all_fail=True)])
    async with running(store, work, keep="all") as runner:
        await (await runner.start(work, {"items": [1, 2]}, run_id="origin")).result()
        mended.append(True)
        result = await (await runner.retry_items("origin")).result()
        assert ([each["path"] for each in result["out"]], result["bad"]) == ([["one", "three"]] * 2, [])
        assert not await store.check()
    assert counted.calls.count("one") == 2


def paying(paid: list[str]) -> Chain:
    """A workflow whose steps pay by an effect; the second waits for an answer after it."""

    async def pay(_: State, context: StepContext) -> Mapping[str, object]:
        return {"first": await context.once("pay", lambda: _paid("first"))}

    async def ask(_: State, context: StepContext) -> Mapping[str, object]:
        second = await context.once("pay", lambda: _paid("second"))
        return {"second": second, "answer": await context.wait_for_answer("ask")}

    async def _paid(name: str) -> str:
        paid.append(name)
        return f"{name} {len(paid)}"

    return Chain("work", [pay, step("ask", ask, answers=str)])


async def test_effects_happen_again_only_if_that_is_said(store: Store) -> None:
    paid: list[str] = []
    work = paying(paid)
    async with running(store, work, keep="all") as runner:
        run = await runner.start(work, run_id="origin")
        assert await run.settled() is RunStatus.WAITING
        with pytest.raises(EffectsAgain, match=r"'pay' at 'ask'.*'again'") as caught:
            await runner.fork("origin")
        assert caught.value.effects == (("ask", "pay"),)
        with pytest.raises(EffectsAgain, match="'pay' at 'pay', 'pay' at 'ask'"):
            await runner.fork("origin", at=1)
        kept = await runner.fork("origin", effects="keep", run_id="kept")
        again = await runner.fork("origin", at="pay", effects="again", run_id="again")
        for fork in (kept, again):
            assert await fork.settled() is RunStatus.WAITING
            await runner.answer(f"{fork.id}/ask", "yes")
        assert [(await fork.result())["second"] for fork in (kept, again)] == ["second 2", "second 3"]
        assert (await runner.runs.get("origin")).status is RunStatus.WAITING


async def test_effects_of_steps_that_have_completed_do_not_count(store: Store) -> None:
    paid: list[str] = []
    work = paying(paid)
    async with running(store, work, keep="all") as runner:
        await runner.start(work, run_id="origin")
        await (await runner.get("origin")).settled()
        await runner.answer("origin/ask", "yes")
        await (await runner.get("origin")).result()
        result = await (await runner.fork("origin", changes={"answer": "no"})).result()
    assert (result["answer"], paid) == ("no", ["first", "second"])


async def test_effects_of_child_runs_that_would_be_started_again_count(store: Store) -> None:
    paid: list[str] = []
    child = paying(paid)

    async def start(_: State, context: StepContext) -> Mapping[str, object]:
        return {"got": dict(await context.child(child, "kid", {}))}

    work = Chain("parent", [NOTHING, start, step("end", nothing, inline=True)], companions=[child])
    async with running(store, work, keep="all") as runner:
        run = await runner.start(work, run_id="origin")
        await run.settled()
        for at in (None, 1, 2):
            for effects in (None, "keep"):
                with pytest.raises(EffectsAgain, match=r"'pay' at 'origin\.kid/ask'.*nothing can be kept"):
                    await runner.fork("origin", at=at, effects=effects)
        fork = await runner.fork("origin", effects="again", run_id="fork")
        assert await fork.settled() is RunStatus.WAITING
        assert paid == ["first", "second"] * 2
        await runner.answer("origin.kid/ask", "yes")
        await run.result()
        assert await (await runner.fork("origin", at="start")).result() == await run.result()


async def test_an_effect_in_doubt_stays_in_doubt_if_it_is_kept(store: Store) -> None:
    async def pay(_: State, context: StepContext) -> Mapping[str, object]:
        def pay_and_fail() -> None:
            raise OSError("cut")

        return {"paid": await context.once("pay", pay_and_fail)}

    work = Chain("work", [pay])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="origin")
        await run.settled()
        fork = await runner.fork("origin", effects="keep")
        assert await fork.settled() is RunStatus.WAITING
        await runner.settle(fork.id, "pay", value=7)
        assert (await fork.result())["paid"] == 7
        assert run.status is RunStatus.WAITING


async def test_a_fork_of_a_run_that_waits_asks_anew(store: Store) -> None:
    work = Chain("work", [Wait("ask")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="origin")
        await run.settled()
        fork = await runner.fork("origin", run_id="fork")
        assert await fork.settled() is RunStatus.WAITING
        await runner.answer("fork/ask", "yes")
        assert (await fork.result())["ask"] == "yes"
        await runner.cancel("origin")
        with pytest.raises(RunCancelled):
            await run.result()
        again = await runner.fork("origin")
        assert await again.settled() is RunStatus.WAITING


async def test_an_id_stands_for_one_fork(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [counted.adds("a"), counted.adds("b")])
    async with running(store, work, keep="all") as runner:
        await (await runner.start(work, run_id="origin")).result()
        await (await runner.start(work, run_id="other")).result()
        fork = await runner.fork("origin", at=2, run_id="fork")
        await fork.result()
        assert await (await runner.fork("origin", at=2, run_id="fork")).result() == await fork.result()
        assert await (await runner.fork("origin", run_id="fork")).result() == await fork.result()
        for origin, at, changes in (("origin", 1, {}), ("other", 2, {}), ("origin", 2, {"n": 1})):
            with pytest.raises(RunConflict):
                await runner.fork(origin, at=at, changes=changes, run_id="fork")
        with pytest.raises(RunConflict):
            await runner.fork("origin", run_id="other")
    assert counted.calls == ["a", "b", "a", "b", "b"]


async def test_a_fork_of_what_is_not_there_is_refused(store: Store) -> None:
    counted = Counted()
    work = Chain("work", [counted.adds("a"), counted.adds("b")])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="origin")).result()
        await (await runner.start(work, run_id="all", keep="all")).result()
        with pytest.raises(RunNotFound):
            await runner.fork("unknown")
        with pytest.raises(NotInHistory, match="keeps no history"):
            await runner.fork("origin", at=1)
        with pytest.raises(NotInHistory, match="numbers 1 to"):
            await runner.fork("all", at=99)
        with pytest.raises(NotInHistory):
            await runner.fork("all", at=0)
        with pytest.raises(ForkRefused, match="keep='all'"):
            await runner.fork("origin", at="a")
        with pytest.raises(ForkRefused, match="no step 'c' has completed"):
            await runner.fork("all", at="c")
        assert len((await store.find()).items) == 2


async def test_a_completed_step_of_a_cycle_is_the_one_of_its_last_visit(store: Store) -> None:
    def turn(state: State) -> Mapping[str, object]:
        return {"rounds": state.get("rounds", 0) + 1}

    graph = Graph("work")
    graph.add("turn", step("turn", turn, inline=True))
    graph.add("end", NOTHING)
    graph.edge("turn", "turn", when=lambda state: state["rounds"] < 3)
    graph.edge("turn", "end")
    graph.start("turn")
    graph.finish("end")
    async with running(store, graph, keep="all") as runner:
        await (await runner.start(graph, run_id="origin")).result()
        fork = await runner.fork("origin", at="turn")
        assert (await fork.result())["rounds"] == 3
        assert (await store.info(fork.id)).forked_at == 4


@pytest.mark.parametrize(
    ("path", "number"),
    [("fan", 6), ("fan[0]", 5), ("fan[0]/one", 3), ("fan[0]/two", 5), ("sum[1]", 9), ("sum", 11), ("end", 12)],
)
async def test_fan_outs_folds_and_their_steps_are_completed_steps(path: str, number: int) -> None:
    counted = Counted()
    item = Chain("item", [counted.adds("one"), counted.adds("two")])

    def add(state: State, item: int) -> Mapping[str, object]:
        return {"sum": state.get("sum", 0) + item}

    fold = Chain.fold("sum", add, over="numbers", inline=True)
    work = Chain("work", [Parallel("fan", item, over="items", into="out"), fold, counted.adds("end")])
    async with running(MemoryStore(), work, keep="all") as runner:
        state = {"items": [0], "numbers": [1, 2, 3]}
        expected = await (await runner.start(work, state, run_id="origin")).result()
        fork = await runner.fork("origin", at=path)
        assert await fork.result() == expected
        assert (await runner.store.info(fork.id)).forked_at == number


async def test_a_run_of_an_older_version_is_migrated_first(store: Store) -> None:
    gate = Gate()
    old = Chain("work", [NOTHING, gate.step], types=LOG)

    def renamed(run: dict[str, Any]) -> dict[str, Any]:
        root = run["frames"][""]
        root["next"] = root["next"].replace("gate", "door")
        root["state"]["log"] = [*root["state"]["log"], "migrated"]
        return run

    async with running(store, old, grace=0, keep="all") as runner:
        await runner.start(old, {"log": ["a"]}, run_id="origin")
        await gate.entered.wait()
    new = Chain("work", [NOTHING, step("door", nothing, inline=True)], types=LOG, version=2)
    async with running(store, new, migrations={"work": {1: renamed}}) as runner:
        before = await runner.fork("origin")
        assert (await before.result())["log"] == ["a", "migrated"]
        await runner.recover()
        await (await runner.get("origin")).result()
        assert (await store.info("origin")).version == 2
        for number, log in ((2, ["a", "migrated"]), (3, ["a", "migrated"]), (4, ["a", "migrated"])):
            assert (await (await runner.fork("origin", at=number)).result())["log"] == log
        assert not await store.check()


async def test_a_run_that_the_code_does_not_fit_is_not_forked(store: Store) -> None:
    gate = Gate()
    await leave_at(gate, store, Chain("work", [gate.step]))
    async with running(store, Chain("work", [NOTHING])) as runner:
        with pytest.raises(IncompatibleCheckpoint, match="'gate'"):
            await runner.fork("r1")
    async with running(store) as runner:
        with pytest.raises(UnknownWorkflow):
            await runner.fork("r1")


async def test_a_run_whose_list_was_replaced_meanwhile_is_read_again() -> None:
    class Store(MemoryStore):
        stale = 0

        async def create(self, run: Any) -> Any:
            if run.forked is not None and self.stale:
                self.stale -= 1
                raise StaleCheckpoint(run.forked.run_id, "", "with its list")
            return await super().create(run)

    store, work = Store(), Chain("work", [NOTHING])
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="origin")).result()
        store.stale = 5
        assert await (await runner.fork("origin")).result() == {}
        store.stale = 1000
        with pytest.raises(StaleCheckpoint):
            await runner.fork("origin")


async def test_forks_are_what_the_next_process_goes_on_with(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        await runner.start(work, run_id="origin")
        await gate.entered.wait()
        await runner.fork("origin", changes={"n": 1}, run_id="fork")
    gate.open.set()
    async with running(store, work) as runner:
        await runner.recover()
        assert dict(await (await runner.get("fork")).result()) == {"n": 1}


async def test_a_fork_of_a_run_that_had_ended_completes_in_the_next_process() -> None:
    store, work = MemoryStore(), Chain("work", [NOTHING])
    async with running(store, work, max_running=1) as runner:
        await (await runner.start(work, run_id="origin")).result()
        gate = Gate()
        waits = Chain("waits", [gate.step])
    async with store, Runner(store, workflows=[work, waits], max_running=1, grace=0) as runner:
        await runner.start(waits, run_id="first")
        await gate.entered.wait()
        await runner.fork("origin", run_id="fork")
    gate.open.set()
    async with running(store, work, waits) as runner:
        await runner.recover()
        assert dict(await (await runner.get("fork")).result()) == {}
