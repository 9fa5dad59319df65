"""A failed run goes on when somebody says so: what was done stays done."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from tests.workflows._words import NOTHING, Counted, Gate, Recorder, Store, leave_at, running

from stagepost.checkpoint import (
    Commit,
    ItemStatus,
    MemoryStore,
    RunNotFound,
    RunNotOpen,
    RunStatus,
    StoreError,
)
from stagepost.workflows import (
    Chain,
    Graph,
    GraphError,
    IncompatibleCheckpoint,
    ItemAccounts,
    ItemsFrozen,
    Parallel,
    ParallelError,
    RunFailed,
    State,
    key_equals,
    step,
)


async def test_a_failed_run_goes_on_at_the_step_that_failed(store: Store) -> None:
    counted, mended = Counted(), False
    work = Chain("work", [counted.adds("a"), counted.fails("b", lambda: mended), counted.adds("c")])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunFailed):
            await run.result()
        assert (await runner.recover()).resumed == ()  # a committed failure stands
        with pytest.raises(RunFailed):
            await (await runner.resume("r1")).result()
        mended = True
        assert dict(await (await runner.resume("r1")).result()) == {"path": ["a", "c"], "b": "mended"}
        with pytest.raises(RunNotOpen, match="run 'r1' is completed"):
            await runner.resume("r1")
        with pytest.raises(RunNotFound):
            await runner.resume("r2")
    assert counted.calls == ["a", "b", "b", "b", "c"]


async def test_resume_takes_up_an_open_run_too(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    await leave_at(gate, store, work)
    gate.open = anyio.Event()
    async with running(store, work) as runner:
        run = await runner.resume("r1")
        assert await runner.resume("r1") is run
        gate.open.set()
        await run.result()


async def test_an_incompatible_failed_run_stays_failed(store: Store) -> None:
    work = Chain("work", [Counted().fails("b")])
    async with running(store, work) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(work, run_id="r1")).result()
    async with running(store, Chain("work", [NOTHING])) as runner:
        with pytest.raises(IncompatibleCheckpoint):
            await runner.resume("r1")
        assert (await store.load("r1")).run.status is RunStatus.FAILED


def picky(counted: Counted, healthy: list[int], **options: Any) -> Parallel:
    def work_on(item: int) -> int:
        counted.calls.append(str(item))
        if item not in healthy:
            raise ValueError(f"{item} is ill")
        return 10 * item

    return Parallel("fan", step("item", work_on, inline=True), over="n", **options)


async def test_resuming_a_fan_out_runs_what_is_not_done(store: Store) -> None:
    counted, healthy, recorder = Counted(), [0, 1], Recorder()
    work = Chain("work", [picky(counted, healthy, workers=1)])
    async with running(store, work, observer=recorder) as runner:
        run = await runner.start(work, {"n": [0, 1, 2, 3]}, run_id="r1")
        with pytest.raises(RunFailed, match="1 of 4 items failed: item 2: ValueError: 2 is ill"):
            await run.result()
        healthy += [2, 3]
        assert (await (await runner.resume("r1")).result())["fan"] == [0, 10, 20, 30]
    assert counted.calls == ["0", "1", "2", "2", "3"]
    assert [(event.total, event.done) for event in recorder.of(ItemsFrozen)] == [(4, 0), (4, 2)]


async def test_cancelled_items_run_again_and_finished_ones_do_not(store: Store) -> None:
    gate, calls, ill = Gate(), list[str](), True

    async def work_on(item: str) -> str:
        calls.append(item)
        if item == "waits":
            await gate.pass_through(item)
        if item == "fails" and ill:
            await gate.entered.wait()
            raise ValueError
        return item

    work = Parallel("fan", work_on, over="n", workers=2)
    async with running(store, work) as runner:
        run = await runner.start(work, {"n": ["fine", "waits", "fails", "last"]}, run_id="r1")
        with pytest.raises(RunFailed) as caught:
            await run.result()
        error = caught.value.__cause__
        assert isinstance(error, ParallelError)
        assert error.accounts == ItemAccounts(ok=(0,), failed=(2,), cancelled=(1,), not_started=(3,))
        stored = [item.status for item in (await store.load("r1")).items]
        assert stored == [ItemStatus.OK, ItemStatus.CANCELLED, ItemStatus.FAILED, ItemStatus.WAITING]
        ill = False
        gate.open.set()
        result = await (await runner.resume("r1")).result()
        assert result["fan"] == ["fine", "waits", "fails", "last"]
        assert (await store.load("r1")).items == ()
    assert sorted(calls) == ["fails", "fails", "fine", "last", "waits", "waits"]


async def test_a_pattern_as_worker_goes_on_at_the_step_that_failed(store: Store) -> None:
    counted, mended = Counted(), False
    worker = Chain("w", [counted.adds("a"), counted.fails("b", lambda: mended), counted.adds("c")])
    work = Parallel("fan", worker, over="n", workers=1)
    async with running(store, work) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(work, {"n": [0]}, run_id="r1")).result()
        mended = True
        result = await (await runner.resume("r1")).result()
    assert result["fan"] == [{"path": ["a", "c"], "b": "mended"}]
    assert counted.calls == ["a", "b", "b", "c"]


async def test_a_fan_out_in_a_fan_out_is_resumed_at_its_items(store: Store) -> None:
    counted, healthy = Counted(), [1, 3]
    unpack = step("unpack", lambda state: {"n": state["item"]}, inline=True)
    worker = Chain("w", [unpack, counted.adds("first"), picky(counted, healthy, workers=1)])
    work = Parallel("outer", worker, over="rows", workers=1)
    async with running(store, work) as runner:
        with pytest.raises(RunFailed, match=r"item 1: chain 'w' failed at step 'fan': .*item 1: ValueError: 2 is ill"):
            await (await runner.start(work, {"rows": [[1], [1, 2, 3]]}, run_id="r1")).result()
        healthy.append(2)
        result = await (await runner.resume("r1")).result()
    assert [row["fan"] for row in result["outer"]] == [[10], [10, 20, 30]]
    assert counted.calls == ["first", "1", "first", "1", "2", "2", "3"]


async def test_a_failed_item_that_was_collected_before_a_crash_still_stands(store: Store) -> None:
    gate, calls = Gate(), list[int]()

    async def work_on(item: int) -> int:
        calls.append(item)
        if item == 0:
            raise ValueError("ill")
        await gate.pass_through(item)
        return item

    work = Parallel("fan", work_on, over="n", failures="bad", workers=1)
    await leave_at(gate, store, work, {"n": [0, 1]})
    async with running(store, work) as runner:
        result = await (await runner.recover()).resumed[0].result()
    assert (result["fan"], calls) == ([1], [0, 1, 1])
    assert result["bad"] == [{"index": 0, "item": 0, "error": "ValueError: ill"}]


async def test_a_failure_of_an_item_ends_the_run_also_if_a_crash_came_between() -> None:
    """The item's failure is on disk, the run's is not: nobody works on the items that are left."""

    class Cut(MemoryStore):
        """Fails when the run is to be closed."""

        async def commit(self, commit: Commit) -> None:
            if commit.closing is not None and not self.healed:
                raise StoreError("cut off")
            await super().commit(commit)

        healed = False

    store, calls = Cut(), list[int]()

    def fail(item: int) -> None:
        calls.append(item)
        raise ValueError("ill")

    work = Parallel("fan", step("fail", fail, inline=True), over="n", workers=1)
    async with running(store, work) as runner:
        run = await runner.start(work, {"n": [0, 1]}, run_id="r1")
        with pytest.raises(StoreError, match="cut off"):
            await run.result()
        assert run.status is RunStatus.RUNNING
        store.healed = True
        (again,) = (await runner.recover()).resumed  # this runner no longer works on it
        with pytest.raises(RunFailed) as caught:
            await again.result()
    error = caught.value.__cause__
    assert isinstance(error, ParallelError)
    assert error.accounts == ItemAccounts(failed=(0,), not_started=(1,))
    assert (str(error.failures[0]), error.__cause__, calls) == ("ValueError: ill", None, [0])


async def test_only_the_predicate_is_evaluated_again_where_it_raised(store: Store) -> None:
    counted, broken = Counted(), True

    def decide(state: State) -> bool:
        if broken:
            raise ValueError("undecided")
        return True

    graph = Graph("graph")
    graph.add("a", counted.adds("a"))
    graph.add("b", counted.adds("b"))
    graph.edge("a", "b", when=decide)
    graph.start("a")
    graph.finish("b")
    async with running(store, graph) as runner:
        with pytest.raises(RunFailed) as caught:
            await (await runner.start(graph, run_id="r1")).result()
        assert isinstance(caught.value.__cause__, GraphError)
        stored = await store.load("r1")
        assert (stored.root.state, stored.root.next) == ({"path": b'["a"]'}, "a->")
        with pytest.raises(RunFailed) as caught:
            await (await runner.resume("r1")).result()
        assert isinstance(caught.value.__cause__, GraphError)
        assert caught.value.__cause__.node == "a"
        broken = False
        assert (await (await runner.resume("r1")).result())["path"] == ["a", "b"]
    assert counted.calls == ["a", "b"]


async def test_only_the_predicate_of_an_items_graph_is_evaluated_again(store: Store) -> None:
    counted, answers = Counted(), [False]
    graph = Graph("graph")
    graph.add("a", counted.adds("a"))
    graph.start("a")
    graph.add("b", NOTHING)
    graph.finish("b")
    graph.edge("a", "b", when=lambda _: answers[0])
    work = Parallel("fan", graph, over="n")
    async with running(store, work) as runner:
        with pytest.raises(RunFailed, match="none of its edges matches"):
            await (await runner.start(work, {"n": [1]}, run_id="r1")).result()
        answers[0] = True
        assert (await (await runner.resume("r1")).result())["fan"] == [{"path": ["a"]}]
    assert counted.calls == ["a"]


async def test_visits_and_limits_survive(store: Store) -> None:
    """Half of the steps before, half behind: the limit is met at the same one."""
    gate, keys = Gate(), list[int]()

    async def work_on(state: State, context: Any) -> Mapping[str, object]:
        keys.append(context.visit)
        if context.visit == 3:
            await gate.pass_through(state)
        return {"n": context.visit}

    graph = Graph("graph", max_steps=5)
    graph.add("a", work_on)
    graph.add("b", NOTHING)
    graph.edge("a", "b", when=key_equals("n", 100))
    graph.edge("a", "a")
    graph.start("a")
    graph.finish("b")
    await leave_at(gate, store, graph)
    async with running(store, graph) as runner:
        with pytest.raises(RunFailed, match="it has taken max_steps=5 steps"):
            await (await runner.recover()).resumed[0].result()
        with pytest.raises(RunFailed, match="it has taken max_steps=5 steps"):
            await (await runner.resume("r1")).result()
    assert keys == [1, 2, 3, 3, 4, 5]
