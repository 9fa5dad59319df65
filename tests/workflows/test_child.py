"""A step starts runs of other workflows, waits for them, and finds them again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._doors import Door
from tests.workflows._words import PATIENCE, Counted, Gate, Recorder, Store, nothing, running, until
from tests.workflows.test_lifespans import Line, reads

from stagepost.checkpoint import Keep, MemoryStore, NewRun, RunInfo, RunNotFound, RunStatus, StoreFull, WaitKind
from stagepost.workflows import (
    Chain,
    ChainError,
    ChildFailed,
    DefinitionError,
    LifespanFailed,
    Parallel,
    Pattern,
    RunConflict,
    RunDead,
    RunFailed,
    Runner,
    RunnerRequired,
    RunnerStopped,
    RunStarted,
    State,
    StepContext,
    Wait,
    step,
)


def starting(child: Pattern, key: str = "kid", *, name: str = "parent", start: Any = None) -> Chain:
    """A workflow with one step, which starts a child."""

    async def ask(_state: State, context: StepContext) -> Mapping[str, object]:
        state = await context.child(child, key, {} if start is None else start)
        return {"got": dict(state)}

    return Chain(name, [ask], companions=[child])


def path_of(result: State) -> list[str]:
    return list(result["got"]["path"])


async def either_way(workflow: Pattern, state: Mapping[str, object] | None = None) -> list[Any]:
    """What a workflow ends with in memory and under a runner."""
    results = [await workflow.run(state)]
    async with running(MemoryStore(), workflow) as runner:
        results.append(await (await runner.start(workflow, state)).result())
    return results


async def test_a_step_gets_the_final_state_of_its_child() -> None:
    counted = Counted()
    child = Chain("child", [counted.adds("a"), counted.adds("b")])
    for result in await either_way(starting(child, start={"path": ["x"]})):
        assert path_of(result) == ["x", "a", "b"]


class Asked(MemoryStore):
    """A store that notes of which runs it was asked where they stand."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def info(self, run_id: str) -> RunInfo:
        self.asked.append(run_id)
        return await super().info(run_id)


async def test_a_child_is_looked_for_only_where_it_may_have_begun() -> None:
    counted = Counted()
    child = Chain("child", [counted.adds("a")])

    async def ask(_state: State, context: StepContext) -> Mapping[str, object]:
        first = await context.child(child, "kid", {})
        again = await context.child(child, "kid", {})
        return {"paths": [first["path"], again["path"]]}

    store, parent = Asked(), Chain("parent", [ask], companions=[child])
    async with running(store, parent) as runner:
        run = await runner.start(parent, {}, run_id="run")
        assert (await run.result())["paths"] == [["a"], ["a"]]
    assert store.asked.count("run.kid") == 1


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_what_it_begins_with_is_made_once(is_async: bool) -> None:  # noqa: FBT001  # a parameter of the test
    made: list[int] = []

    async def later() -> Mapping[str, object]:
        made.append(1)
        return {"path": ["later"]}

    def now() -> Mapping[str, object]:
        made.append(1)
        return {"path": ["now"]}

    child = Chain("child", [Counted().adds("a")])

    async def ask(_state: State, context: StepContext) -> Mapping[str, object]:
        first = await context.child(child, "kid", later if is_async else now)
        second = await context.child(child, "kid", later if is_async else now)
        return {"same": dict(first) == dict(second), "path": first["path"]}

    for result in await either_way(Chain("parent", [ask], companions=[child])):
        assert dict(result) == {"same": True, "path": ["later" if is_async else "now", "a"]}
    assert len(made) == 2


class Basket(BaseModel):
    """A typed state."""

    items: list[str] = []


async def test_a_typed_child_gives_its_model_anew_each_time() -> None:
    async def put(state: Basket) -> Mapping[str, object]:
        return {"items": [*state.items, "egg"]}

    child = Chain("child", [put], state=Basket)

    async def ask(_state: State, context: StepContext) -> Mapping[str, object]:
        first = await context.child(child, "kid", Basket(items=["milk"]))
        first.items.clear()
        again = await context.child_state("kid")
        return {"items": again.items}

    result = await Chain("parent", [ask], companions=[child]).run()
    assert result["items"] == ["milk", "egg"]


async def test_children_of_items_run_at_once_and_grandchildren_below_them() -> None:
    leaf = Chain("leaf", [Counted().adds("leaf")])

    async def middle(state: State, context: StepContext) -> Mapping[str, object]:
        return {"path": (await context.child(leaf, "leaf", {"path": [state["n"]]}))["path"]}

    inner = Chain("inner", [middle], companions=[leaf])

    async def each(item: int, context: StepContext) -> list[object]:
        state = await context.child(inner, f"item-{item}", {"n": item})
        return [context.run_id.partition(".")[0] == context.run_id, *state["path"]]

    fan = Parallel("fan", step("each", each), over="items")
    for result in await either_way(Chain("parent", [fan], companions=[inner]), {"items": [1, 2, 3]}):
        assert result["fan"] == [[True, n, "leaf"] for n in (1, 2, 3)]


async def test_child_state_finds_what_has_completed_and_nothing_else() -> None:
    child = Chain("child", [Counted().adds("a")])
    bad = Chain("bad", [Counted().fails("broken")])

    async def ask(_state: State, context: StepContext) -> None:
        await context.child(child, "good", {})
        with pytest.raises(ChildFailed):
            await context.child(bad, "bad", {})

    async def look(_state: State, context: StepContext) -> Mapping[str, object]:
        found = [await context.child_state(key) for key in ("good", "bad", "none")]
        return {"found": [None if state is None else dict(state) for state in found]}

    for result in await either_way(Chain("parent", [ask, look], companions=[child, bad])):
        assert result["found"] == [{"path": ["a"]}, None, None]


async def test_a_child_that_fails_fails_its_step_and_says_which(store: Store) -> None:
    counted = Counted()
    child = Chain("child", [counted.adds("a"), counted.fails("broken")])
    parent = starting(child)
    with pytest.raises(ChainError) as in_memory:
        await parent.run()
    async with running(store, parent) as runner:
        run = await runner.start(parent, run_id="p")
        with pytest.raises(
            RunFailed, match=r"run 'p\.kid' of 'child', which a step has started, did not complete"
        ) as failed:
            await run.result()
    assert failed.value.__cause__ is not None
    for error in (in_memory.value.__cause__, failed.value.__cause__.__cause__):
        assert isinstance(error, ChildFailed)
        assert (error.workflow, error.run_id.partition(".")[2]) == ("child", "kid")
        assert error.state["path"] == ["a"]
        assert "broken is broken" in error.why
        assert isinstance(error.__cause__, ChainError)


async def test_a_failure_of_a_child_stands_within_a_run() -> None:
    counted, told = Counted(), list[str]()
    child = Chain("child", [counted.fails("broken")])

    async def ask(_state: State, context: StepContext) -> None:
        for _ in range(2):
            try:
                await context.child(child, "kid", {})
            except ChildFailed as error:
                told.append(error.why)

    await either_way(Chain("parent", [ask], companions=[child]))
    assert len(told) == 4
    assert counted.calls == ["broken"] * 2  # once in memory, once under a runner


async def test_resuming_the_parent_opens_a_failed_child_again(store: Store) -> None:
    counted, mended = Counted(), list[bool]()
    child = Chain("child", [counted.adds("a"), counted.fails("broken", lambda: bool(mended))])
    middle = starting(child, name="middle")
    parent = starting(middle)
    async with running(store, parent) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(parent, run_id="p")).result()
        with pytest.raises(RunFailed, match="broken is broken"):
            await (await runner.resume("p")).result()
        mended.append(True)
        result = await (await runner.resume("p")).result()
    assert result["got"]["got"]["broken"] == "mended"
    assert counted.calls == ["a", "broken", "broken", "broken"]


async def test_a_child_that_was_cancelled_or_is_dead_fails_its_step(store: Store) -> None:
    child = Chain("child", [Wait("ask")])
    parent = starting(child)
    async with running(store, parent) as runner:
        run = await runner.start(parent, run_id="p")
        await run.settled()
        await runner.cancel("p.kid")
        with pytest.raises(RunFailed, match=r"run 'p\.kid' was cancelled"):
            await run.result()
    async with running(store, parent) as runner:
        with pytest.raises(RunFailed, match=r"run 'p\.kid' was cancelled"):
            await (await runner.resume("p")).result()


async def test_a_dead_child_fails_its_parent_and_is_opened_again_with_it(store: Store) -> None:
    gate = Gate()
    child = Chain("child", [gate.step])
    parent = starting(child)
    async with running(store, parent, grace=0) as runner:
        await runner.start(parent, run_id="p")
        await gate.entered.wait()
    await died(store, "p.kid", "p.kid", "p.kid")
    gate.open.set()
    async with running(store, parent, max_attempts=2) as runner:
        report = await runner.recover()
        assert isinstance(report.dead["p.kid"], RunDead)
        with pytest.raises(RunFailed, match="is dead"):
            await (await runner.get("p")).result()
        await (await runner.resume("p")).result()


async def died(store: Store, *run_ids: str) -> None:
    """Runs were recovered by processes that died with them."""
    for run_id in run_ids:
        async with store:
            await store.claim(await store.join("somebody"), run_id)


async def test_a_child_has_its_own_id_and_its_parents_trace_and_keep(store: Store) -> None:
    recorder = Recorder()
    parent = starting(Chain("child", [Counted().adds("a")]))
    async with running(store, parent, observer=recorder, keep={"parent": Keep.ALL}) as runner:
        await (await runner.start(parent, run_id="p", trace="t")).result()
        info = await store.info("p.kid")
        assert (info.workflow, info.trace, info.keep, info.status) == ("child", "t", Keep.ALL, RunStatus.COMPLETED)
    assert {(event.run_id, event.trace) for event in recorder.of(RunStarted)} == {("p", "t"), ("p.kid", "t")}


async def test_in_memory_a_child_has_what_its_parent_has() -> None:
    recorder = Recorder()
    seen: list[object] = []

    async def look(_state: State, context: StepContext) -> None:
        seen.append(
            (context.deps, context.secrets["key"], context.hub, context.trace, context.run_id, context.workflow)
        )

    parent = starting(Chain("child", [look]))
    await parent.run(deps="deps", secrets={"key": "sesame-street"}, observer=recorder, trace="t")
    (outer, inner) = (event.run_id for event in recorder.of(RunStarted))
    assert seen == [("deps", "sesame-street", None, "t", inner, "child")]
    assert inner == f"{outer}.kid"


async def test_a_child_takes_no_slot(store: Store) -> None:
    parent = starting(starting(Chain("leaf", [Counted().adds("a")]), name="child"))
    async with running(store, parent, max_running=1) as runner:
        result = await (await runner.start(parent)).result()
    assert result["got"]["got"]["path"] == ["a"]


async def test_a_workflow_that_nobody_knows_is_named_with_what_to_do(store: Store) -> None:
    child = Chain("child", [Counted().adds("a")])
    parent = starting(child)
    alone = Chain("parent", list(parent.children.values()))
    async with running(store, alone) as runner:
        with pytest.raises(RunFailed, match="name it in companions= of 'parent', whose step starts it") as failed:
            await (await runner.start(alone)).result()
    assert isinstance(failed.value.__cause__, ChainError)
    assert isinstance(failed.value.__cause__.__cause__, DefinitionError)


async def test_a_key_belongs_to_one_workflow(store: Store) -> None:
    one, two = Chain("one", [Counted().adds("a")]), Chain("two", [Counted().adds("a")])

    async def ask(_state: State, context: StepContext) -> None:
        await context.child(one, "kid", {})
        await context.child(two, "kid", {})

    parent = Chain("parent", [ask], companions=[one, two])
    async with running(store, parent) as runner:
        with pytest.raises(RunFailed) as failed:
            await (await runner.start(parent)).result()
    assert failed.value.__cause__ is not None
    assert isinstance(failed.value.__cause__.__cause__, RunConflict)


async def test_a_key_is_a_name() -> None:
    with pytest.raises(ChainError, match=r"'a\.b' is not a valid key"):
        await starting(Chain("child", [Counted().adds("a")]), "a.b").run()


async def test_items_that_want_the_same_child_share_it() -> None:
    gate, made = Gate(updates={"n": 1}), list[int]()
    child = Chain("child", [gate.step])

    def begin() -> Mapping[str, object]:
        made.append(1)
        return {"made": len(made)}

    async def each(item: int, context: StepContext) -> list[object]:
        if item == 2:
            gate.open.set()
        return [item, (await context.child(child, "kid", begin))["n"]]

    parent = Chain("parent", [Parallel("fan", step("each", each), over="items", workers=3)], companions=[child])
    for result in await either_way(parent, {"items": [0, 1, 2]}):
        assert result["fan"] == [[0, 1], [1, 1], [2, 1]]
    assert gate.calls == 2


async def test_in_memory_a_child_that_is_cancelled_with_an_item_is_begun_by_another() -> None:
    gate = Gate()
    child = Chain("child", [gate.step])

    async def impatient(_item: object, context: StepContext) -> Mapping[str, object]:
        with anyio.move_on_after(0.01):
            await context.child(child, "kid", {})
        gate.open.set()
        return {"a": 1}

    async def patient(_item: object, context: StepContext) -> Mapping[str, object]:
        await gate.entered.wait()
        await context.child(child, "kid", {})
        return {"b": 1}

    parent = Chain("parent", [Parallel("both", {"i": impatient, "p": patient})], companions=[child])
    assert dict(await parent.run()) == {"a": 1, "b": 1}
    assert gate.calls == 2


async def test_in_memory_a_child_cannot_wait_for_somebody() -> None:
    with pytest.raises(ChainError) as caught:
        await starting(Chain("child", [Wait("ask")])).run()
    failed = caught.value.__cause__
    assert isinstance(failed, ChildFailed)
    assert isinstance(failed.__cause__, ChainError)
    assert isinstance(failed.__cause__.__cause__, RunnerRequired)


async def test_what_a_child_waits_for_shows_on_its_parent_and_is_answered_after_a_restart(store: Store) -> None:
    counted = Counted()
    leaf = Chain("leaf", [counted.adds("a"), Wait("approval"), counted.adds("b")])
    parent = starting(starting(leaf, name="middle"))
    async with running(store, parent) as runner:
        run = await runner.start(parent, run_id="p")
        assert await run.settled() is RunStatus.WAITING
        (own,) = [wait for wait in await runner.waits() if wait.run_id == "p"]
        assert (own.kind, own.name) == (WaitKind.CHILD, "p.kid")
        (shown,) = await runner.waits("p")
        assert (shown.id, shown.workflow, shown.kind) == ("p.kid.kid/approval", "leaf", WaitKind.ANSWER)
    async with running(store, parent) as runner:
        await runner.recover()
        run = await runner.get("p")
        await runner.answer(shown.id, "yes")
        assert (await run.result())["got"]["got"]["path"] == ["a", "b"]
    assert counted.calls == ["a", "b"]


async def test_a_step_has_one_child_after_the_other_each_waiting(store: Store) -> None:
    child = Chain("child", [Wait("ask")])

    async def ask(_state: State, context: StepContext) -> Mapping[str, object]:
        found = [await context.child(child, key, {}) for key in ("a", "b", "c")]
        return {"said": [state["ask"] for state in found]}

    parent = Chain("parent", [ask], companions=[child])
    async with running(store, parent) as runner:
        run = await runner.start(parent, run_id="p")
        for number in range(3):
            while not (waits := [wait for wait in await runner.waits("p") if wait.kind is WaitKind.ANSWER]):
                await anyio.lowlevel.checkpoint()
            await runner.answer(waits[0].id, number)
            if number < 2:
                while not [wait for wait in await runner.waits("p") if wait.id != waits[0].id]:
                    await anyio.lowlevel.checkpoint()
        assert (await run.result())["said"] == [0, 1, 2]


async def test_a_child_that_ends_while_its_parent_is_about_to_park_is_not_missed(store: Store) -> None:
    child = Chain("child", [Wait("ask")])
    parent = starting(child)
    async with running(store, parent) as runner:
        door = Door(store, "wait", when=lambda lease, _: lease.run_id == "p")
        run = await runner.start(parent, run_id="p")
        await door.reached.wait()
        kid = await runner.get("p.kid")
        await runner.answer("p.kid/ask", "early")
        await kid.result()
        door.open.set()
        assert (await run.result())["got"] == {"ask": "early"}


@pytest.mark.parametrize("parent_first", [True, False], ids=["parent first", "child first"])
async def test_recovering_finds_parent_and_child_in_any_order(store: Store, parent_first: bool) -> None:  # noqa: FBT001  # likewise
    counted, gate = Counted(), Gate()
    child = Chain("child", [counted.adds("a"), gate.step, counted.adds("b")])
    parent = starting(child)
    async with running(store, parent, grace=0) as runner:
        await runner.start(parent, run_id="p")
        await gate.entered.wait()
    gate.open.set()
    async with running(store, parent) as runner:
        for run_id in ("p", "p.kid") if parent_first else ("p.kid", "p"):
            await runner.resume(run_id)
        await runner.recover()
        assert path_of(await (await runner.get("p")).result()) == ["a", "b"]
    assert counted.calls == ["a", "b"]
    assert gate.calls == 2


async def test_leaving_the_runner_leaves_parent_and_child_open_at_once(store: Store) -> None:
    gate = Gate()
    child = Chain("child", [gate.step, Counted().adds("b")])
    fan = Parallel("fan", {"ask": starting(child, name="inner"), "other": step("other", nothing, inline=True)})
    parent = Chain("parent", [fan], companions=[child])

    async def open_when_left() -> None:
        await until(lambda: runner._dispatcher is None)
        gate.open.set()

    with fail_after(PATIENCE):
        async with store:
            async with anyio.create_task_group() as group, Runner(store, workflows=[parent], grace=60) as runner:
                run = await runner.start(parent, run_id="p")
                await gate.entered.wait()
                group.start_soon(open_when_left)
            with pytest.raises(RunnerStopped, match="run 'p' ended"):
                await run.result()
            found = [await store.info(run_id) for run_id in ("p", "p.kid")]
    assert [info.status for info in found] == [RunStatus.RUNNING] * 2


async def test_a_run_that_keeps_nothing_forgets_its_children_with_itself(store: Store) -> None:
    parent = starting(starting(Chain("leaf", [Counted().adds("a")]), name="child"))
    async with running(store, parent) as runner:
        await (await runner.start(parent, run_id="p", keep="none")).result()
        await (await runner.start(parent, run_id="other")).result()
        for run_id in ("p", "p.kid", "p.kid.kid"):
            with pytest.raises(RunNotFound):
                await store.info(run_id)
        assert (await store.info("other.kid.kid")).status is RunStatus.COMPLETED


class Refusing:
    """Lets a store refuse new children."""

    def __init__(self, store: Store) -> None:
        self.refuses = True
        self._create = store.create
        store.create = self._call  # type: ignore[method-assign]  # a store that refuses

    async def _call(self, run: NewRun) -> Any:
        if self.refuses and "." in run.run_id:
            raise StoreFull(Path("runs.db"))
        return await self._create(run)


@pytest.mark.parametrize("in_item", [True, False], ids=["item", "step"])
async def test_a_child_that_cannot_be_stored_leaves_its_parent_open(store: Store, in_item: bool) -> None:  # noqa: FBT001  # a parameter of the test
    alone = starting(Chain("child", [Counted().adds("a")]))
    both = {"ask": next(iter(alone.children.values())), "other": Gate("other").step}
    parent = Chain("parent", [Parallel("fan", both)], companions=alone.companions) if in_item else alone
    async with running(store, parent, grace=0) as runner:
        refusing = Refusing(store)
        with pytest.raises(StoreFull):
            await (await runner.start(parent, run_id="p")).result()
        assert (await store.info("p")).status is RunStatus.RUNNING
        refusing.refuses = False
        await runner.recover()
        if not in_item:
            assert path_of(await (await runner.get("p")).result()) == ["a"]


async def test_a_child_that_a_step_wants_while_the_runner_is_left_is_begun_by_the_next(store: Store) -> None:
    child, gate = Chain("child", [Counted().adds("a")]), Gate()

    async def ask(state: State, context: StepContext) -> Mapping[str, object]:
        await gate.pass_through(state)
        return {"got": dict(await context.child(child, "kid", {}))}

    parent = Chain("parent", [ask], companions=[child])

    async def open_when_left() -> None:
        await until(lambda: runner._dispatcher is None)
        await anyio.wait_all_tasks_blocked()
        gate.open.set()

    with fail_after(PATIENCE):
        async with store:
            async with anyio.create_task_group() as group, Runner(store, workflows=[parent], grace=60) as runner:
                run = await runner.start(parent, run_id="p")
                await gate.entered.wait()
                group.start_soon(open_when_left)
            with pytest.raises(RunnerStopped, match="run 'p' ended"):
                await run.result()
            async with Runner(store, workflows=[parent]) as runner:
                await runner.recover()
                assert path_of(await (await runner.get("p")).result()) == ["a"]


async def test_a_child_whose_lifespan_fails_fails_the_step_and_is_begun_by_the_next_attempt(store: Store) -> None:
    line = Line(refuses=True)
    parent = starting(Chain("child", [reads(line)], lifespan=line.open))
    with pytest.raises(ChainError, match="LifespanFailed"):
        await parent.run()
    async with running(store, parent) as runner:
        with pytest.raises(RunFailed, match="nobody is there"):
            await (await runner.start(parent, run_id="p")).result()
        with pytest.raises(RunNotFound):
            await store.info("p.kid")
        line.refuses = False
        assert (await (await runner.resume("p")).result())["got"]["read"] == "line"


async def test_a_parent_stays_open_with_a_child_whose_lifespan_fails(store: Store) -> None:
    line, gate = Line(), Gate()
    parent = starting(Chain("child", [gate.step, reads(line)], lifespan=line.open))
    async with running(store, parent, grace=0) as runner:
        await runner.start(parent, run_id="p")
        await gate.entered.wait()
    gate.open.set()
    line.refuses = True
    async with running(store, parent) as runner:
        report = await runner.recover()
        assert list(report.left_open) == ["p.kid"]
        with pytest.raises(LifespanFailed):
            await report.resumed[0].result()
        line.refuses = False
        await runner.recover()
        assert (await (await runner.get("p")).result())["got"]["read"] == "line"


async def test_lifespans_of_children_in_memory() -> None:
    line, other = Line(), Line("other")
    leaf = Chain("leaf", [reads(line)], lifespan=line.open)
    middle = Chain("middle", [reads(line), *starting(leaf).children.values()], lifespan=other.open)
    parent = Chain("parent", [reads(line), *starting(middle).children.values()], lifespan=line.open)
    result = await parent.run()
    assert result["got"]["read"] == "other"
    assert result["got"]["got"]["read"] == "line"
    assert line.says == ["open line", "step", "step", "step", "close line"]
    assert other.says == ["open other", "close other"]
