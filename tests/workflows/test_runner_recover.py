"""Open runs are taken up where they stand; failed ones when somebody says so."""

from collections.abc import Mapping
from typing import Any, NoReturn

import pytest
from pydantic import BaseModel
from tests.workflows._words import NOTHING, Counted, Gate, Recorder, Store, running

from stagepost.checkpoint import (
    CannotRead,
    Commit,
    ItemStatus,
    MemoryStore,
    RunNotFound,
    RunNotOpen,
    RunStatus,
    StoreError,
)
from stagepost.workflows import (
    Ask,
    Chain,
    Graph,
    GraphError,
    HubRequired,
    IncompatibleCheckpoint,
    ItemAccounts,
    ItemsFrozen,
    Parallel,
    ParallelError,
    Pattern,
    RunFailed,
    RunStarted,
    State,
    UnknownWorkflow,
    key_equals,
    step,
)


async def leave_at(gate: Gate, store: Store, workflow: Pattern, state: Mapping[str, object] | None = None) -> None:
    """Start run ``r1`` and leave the runner while the gate's step is under way."""
    async with running(store, workflow, grace=0) as runner:
        await runner.start(workflow, state, run_id="r1")
        await gate.entered.wait()
    gate.open.set()


async def test_an_open_run_goes_on_where_it_stands(store: Store) -> None:
    gate, counted, recorder = Gate(), Counted(), Recorder()
    work = Chain("work", [counted.adds("a"), gate.step, counted.adds("b")])
    await leave_at(gate, store, work)
    async with running(store, work, observer=recorder) as runner:
        report = await runner.recover()
        assert ([run.id for run in report.resumed], dict(report.left_open)) == (["r1"], {})
        assert dict(await report.resumed[0].result()) == {"path": ["a", "b"]}
        assert (await runner.recover()).resumed == ()
    assert (counted.calls, gate.calls) == (["a", "b"], 2)
    assert [event.recovered for event in recorder.of(RunStarted)] == [True]


async def test_starting_an_open_run_again_takes_it_up(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    await leave_at(gate, store, work)
    async with running(store, work) as runner:
        await (await runner.start(work, run_id="r1")).result()


async def test_recover_leaves_alone_what_this_runner_works_on(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await gate.entered.wait()
        assert (await runner.recover()).resumed == ()
        gate.open.set()
        await run.result()
        assert (await store.load("r1")).run.epoch == 1


async def test_more_runs_than_one_page_are_recovered(store: Store) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, grace=0) as runner:
        for number in range(201):
            await runner.start(work, run_id=f"r{number:03}")
    gate.open.set()
    async with running(store, work) as runner:
        report = await runner.recover()
        assert len(report.resumed) == 201
        for run in report.resumed:
            await run.result()


async def test_runs_that_cannot_go_on_are_left_open_each_time_with_the_reason(store: Store) -> None:
    gate = Gate()
    kinds: list[type[Exception]] = [UnknownWorkflow, UnknownWorkflow, IncompatibleCheckpoint, HubRequired]
    stale: list[Pattern] = [
        Chain("gone", [gate.step]),
        Chain("newer", [gate.step], version=1),
        Chain("changed", [gate.step]),
        Chain("asks", [gate.step]),
    ]
    async with running(store, *stale, grace=0) as runner:
        for workflow in stale:
            await runner.start(workflow, run_id=workflow.name)
    now: list[Pattern] = [
        Chain("newer", [gate.step], version=2),
        Chain("changed", [NOTHING]),
        Chain("asks", [gate.step, Ask("oracle", lambda _: 1)]),
    ]
    async with running(store, *now) as runner:
        for _ in range(2):
            report = await runner.recover()
            assert report.resumed == ()
            assert {name: type(error) for name, error in report.left_open.items()} == dict(
                zip([workflow.name for workflow in stale], kinds, strict=True)
            )
        assert "version 1, which this runner does not know" in str(report.left_open["newer"])
        assert str(report.left_open["changed"]) == (
            "run 'changed' stands at 'gate', which workflow 'changed' no longer has: "
            "register the old definition beside the new one under its version"
        )
        assert {run.epoch for run in await store.find()} == {1}  # nobody has claimed them
    gate.open.set()
    async with running(store, *stale) as runner:
        for run in (await runner.recover()).resumed:
            await run.result()


@pytest.mark.parametrize(
    ("now", "place"),
    [
        (lambda _: Chain("work", [step("fan", lambda _: None)]), "fan"),
        (lambda _: Chain("work", [Chain("fan", [NOTHING])]), "fan"),
        (lambda _: Chain("work", [Parallel("fan", Chain("w", [NOTHING]), over="n")]), "fan[0]/gate"),
        (lambda _: Chain("work", [Parallel("fan", NOTHING, over="n")]), "fan[0]/gate"),
    ],
    ids=["another kind", "a chain", "another worker", "a plain worker"],
)
async def test_a_fan_out_that_has_changed_is_incompatible(store: Store, now: Any, place: str) -> None:
    gate = Gate()
    old = Chain("work", [Parallel("fan", Chain("w", [NOTHING, gate.step]), over="n")])
    await leave_at(gate, store, old, {"n": [1]})
    async with running(store, now(gate)) as runner:
        error = (await runner.recover()).left_open["r1"]
        assert isinstance(error, IncompatibleCheckpoint)
        assert (error.place, error.workflow) == (place, "work")


async def test_added_steps_are_compatible(store: Store) -> None:
    gate, counted = Gate(), Counted()
    await leave_at(gate, store, Chain("work", [counted.adds("a"), gate.step]))
    grown = Chain("work", [NOTHING, counted.adds("a"), gate.step, counted.adds("b")])
    async with running(store, grown) as runner:
        assert dict(await (await runner.recover()).resumed[0].result()) == {"path": ["a", "b"]}


async def test_old_versions_go_on_beside_new_ones(store: Store) -> None:
    gate, counted = Gate(), Counted()
    old = Chain("work", [gate.step, counted.adds("old")])
    await leave_at(gate, store, old)
    new = Chain("work", [counted.adds("new")], version=2)
    async with running(store, old, new) as runner:
        assert (await (await runner.recover()).resumed[0].result())["path"] == ["old"]
        assert (await (await runner.start(new)).result())["path"] == ["new"]


async def test_a_state_that_no_longer_fits_its_model_leaves_the_run_open(store: Store) -> None:
    class Old(BaseModel):
        n: int = 0

    class New(BaseModel):
        n: str = ""

    gate = Gate()
    await leave_at(gate, store, Chain("work", [gate.step], state=Old))
    async with running(store, Chain("work", [gate.step], state=New)) as runner:
        (run,) = (await runner.recover()).resumed
        with pytest.raises(CannotRead, match="no New"):
            await run.result()
        assert run.status is RunStatus.RUNNING
    async with running(store, Chain("work", [gate.step], state=Old)) as runner:
        assert await (await runner.recover()).resumed[0].result() == Old()


async def test_a_key_that_no_longer_fits_its_type_fails_the_step_that_reads_it(store: Store) -> None:
    class Page(BaseModel):
        number: int

    gate = Gate()
    read = step("read", lambda state: {"n": state["page"].number}, inline=True)
    await leave_at(gate, store, Chain("work", [gate.step, read]), {"page": {"title": "x"}})
    async with running(store, Chain("work", [gate.step, read], types={"page": Page})) as runner:
        with pytest.raises(RunFailed, match="failed at step 'read': CannotRead"):
            await (await runner.recover()).resumed[0].result()


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
    async with running(store, work) as runner:
        run = await runner.resume("r1")
        assert await runner.resume("r1") is run or run.status is RunStatus.COMPLETED
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


async def test_a_run_that_has_ended_meanwhile_is_not_recovered() -> None:
    class Late(MemoryStore):
        """Says of a run that it is open when somebody else has just ended it."""

        async def claim(self, run_id: str, *_: object, **__: object) -> NoReturn:
            raise RunNotOpen(run_id, "completed")

    gate, store = Gate(), Late()
    work = Chain("work", [gate.step])
    await leave_at(gate, store, work)
    async with running(store, work) as runner:
        report = await runner.recover()
        assert (report.resumed, dict(report.left_open)) == ((), {})
        assert (await runner.start(work, run_id="r1")).status is RunStatus.RUNNING
