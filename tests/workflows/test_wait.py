"""Waits: a run parks until somebody answers, and goes on from there, also in another process."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from pydantic import BaseModel
from tests.workflows._words import Counted, Recorder, Store, running

from stagepost.checkpoint import (
    AlreadyAnswered,
    CannotStore,
    MemoryStore,
    RunNotFound,
    RunNotOpen,
    RunStatus,
    StoreFailed,
    StoreFull,
    WaitKind,
    WaitNotFound,
)
from stagepost.workflows import (
    Chain,
    DefinitionError,
    Graph,
    Parallel,
    RunCancelled,
    RunEnded,
    RunFailed,
    Runner,
    RunnerRequired,
    RunnerStopped,
    State,
    Wait,
    WaitExpired,
    WaitOpened,
    _patience,
    step,
)


class Decision(BaseModel):
    ok: bool
    reason: str = ""


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now

    def pass_(self, time: timedelta) -> None:
        self.now += time.total_seconds()


def approval(counted: Counted, **options: object) -> Chain:
    wait = Wait("approval", expect=Decision, show=lambda state: {"topic": state["topic"]}, **options)  # type: ignore[arg-type]  # a test's shorthand
    return Chain("work", [counted.adds("before"), wait, counted.adds("after")])


async def test_a_run_parks_until_it_is_answered(store: Store) -> None:
    counted = Counted()
    work = approval(counted)
    async with running(store, work) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        assert (run.status, run.waits) == (RunStatus.WAITING, ("r1/approval",))
        (wait,) = await runner.waits()
        assert (wait.id, wait.run_id, wait.workflow, wait.kind) == ("r1/approval", "r1", "work", WaitKind.ANSWER)
        assert (wait.name, wait.shown, wait.due_at) == ("approval", {"topic": "tides"}, None)
        assert counted.calls == ["before"]
        await runner.answer("r1/approval", Decision(ok=True), by="ann")
        result = await run.result()
        assert result["approval"] == Decision(ok=True)
        assert counted.calls == ["before", "after"]
        assert await runner.waits() == ()
        assert await run.settled() is RunStatus.COMPLETED


async def test_another_process_finds_the_wait_and_answers_it(store: Store) -> None:
    counted = Counted()
    work = approval(counted)
    async with running(store, work) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
    with pytest.raises(RunnerStopped):
        await run.result()
    async with running(store, work) as runner:
        report = await runner.recover()
        assert report.resumed == ()  # nothing of it can go on
        again = await runner.get("r1")
        assert again.status is RunStatus.WAITING
        assert again.waits == ("r1/approval",)
        await runner.answer("r1/approval", {"ok": False, "reason": "too deep"})
        assert (await again.result())["approval"] == Decision(ok=False, reason="too deep")
    assert counted.calls == ["before", "after"]


async def test_an_answer_of_the_wrong_type_is_refused_and_the_wait_stays_open(store: Store) -> None:
    work = approval(Counted())
    async with running(store, work) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
        with pytest.raises(CannotStore, match="the answer to r1/approval"):
            await runner.answer("r1/approval", {"ok": "perhaps"})
        assert [wait.id for wait in await runner.waits()] == ["r1/approval"]
        await runner.answer("r1/approval", {"ok": True})
        await run.result()


async def test_only_the_first_answer_counts(store: Store) -> None:
    work = approval(Counted())
    async with running(store, work) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
        await runner.answer("r1/approval", {"ok": True})
        with pytest.raises((AlreadyAnswered, RunNotOpen)):
            await runner.answer("r1/approval", {"ok": False})
        assert (await run.result())["approval"].ok
        with pytest.raises(RunNotOpen):
            await runner.answer("r1/approval", {"ok": False})


@pytest.mark.parametrize("place", ["before", "nowhere", "approval/x", "nowhere[0]/ask", ""])
async def test_an_answer_to_what_is_no_wait_is_refused(store: Store, place: str) -> None:
    work = approval(Counted())
    async with running(store, work) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
        with pytest.raises(WaitNotFound, match="r1"):
            await runner.answer(f"r1/{place}", {"ok": True})
        with pytest.raises(RunNotFound):
            await runner.answer("r2/approval", {"ok": True})


async def test_when_the_time_is_up_otherwise_is_the_answer(store: Store) -> None:
    clock = Clock()
    work = approval(Counted(), within=timedelta(days=7), otherwise=Decision(ok=False))
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
        (wait,) = await runner.waits()
        assert wait.due_at == datetime(2026, 1, 8, tzinfo=UTC)
    clock.pass_(timedelta(days=8))
    async with running(store, work, clock=clock) as runner:
        await runner.recover()
        assert (await (await runner.get("r1")).result())["approval"] == Decision(ok=False)


async def test_a_short_wait_ends_while_the_runner_runs(store: Store) -> None:
    work = approval(Counted(), within=0.01, otherwise=Decision(ok=False))
    async with running(store, work) as runner:
        run = await runner.start(work, {"topic": "tides"})
        assert not (await run.result())["approval"].ok


async def test_without_otherwise_the_time_is_a_failure_and_resume_waits_anew(store: Store) -> None:
    clock, counted = Clock(), Counted()
    work = approval(counted, within=60)
    async with running(store, work, clock=clock) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
        clock.pass_(timedelta(minutes=2))
        await runner.recover()
        with pytest.raises(RunFailed, match="nobody answered 'approval' by 2026-01-01 00:01:00 UTC") as failed:
            await run.result()
        assert isinstance(failed.value.__cause__, Exception)
        assert isinstance(failed.value.__cause__.__cause__, WaitExpired)
        again = await runner.resume("r1")
        assert await again.settled() is RunStatus.WAITING
        await runner.answer("r1/approval", {"ok": True})
        await again.result()
    assert counted.calls == ["before", "after"]


async def test_a_parked_run_can_be_cancelled(store: Store) -> None:
    work = approval(Counted())
    async with running(store, work) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
        await runner.cancel("r1")
        with pytest.raises(RunCancelled):
            await run.result()
        assert await runner.waits() == ()
        with pytest.raises(RunNotOpen, match="is cancelled"):
            await runner.answer("r1/approval", {"ok": True})


async def test_items_wait_and_free_their_workers(store: Store) -> None:
    done: list[int] = []

    def work_on(state: State) -> Mapping[str, object]:
        done.append(state["item"])
        return {}

    item = Chain("item", [Wait("ask", expect=bool, show=lambda state: state["item"]), step("do", work_on)])
    fan = Parallel("fan", item, over="numbers", workers=1)
    work = Chain("work", [fan])
    async with running(store, work) as runner:
        run = await runner.start(work, {"numbers": [0, 1, 2, 3]}, run_id="r1")
        assert await run.settled() is RunStatus.WAITING
        assert run.waits == tuple(f"r1/fan[{i}]/ask" for i in range(4))
        assert [wait.shown for wait in await runner.waits()] == [0, 1, 2, 3]
        await runner.answer("r1/fan[2]/ask", value=True)
        assert await run.settled() is RunStatus.WAITING
        assert len(run.waits) == 3
        for i in (0, 1, 3):
            await runner.answer(f"r1/fan[{i}]/ask", value=i > 1)
        result = await run.result()
    assert [value["ask"] for value in result["fan"]] == [False, False, True, True]
    assert sorted(done) == [0, 1, 2, 3]


async def test_a_wait_may_be_the_worker_itself(store: Store) -> None:
    fan = Parallel("fan", Wait("ask", expect=Decision, show=lambda item: item), over="numbers", key=str)
    work = Chain("work", [fan])
    async with running(store, work) as runner:
        run = await runner.start(work, {"numbers": [5, 6]}, run_id="r1")
        await run.settled()
        assert run.waits == ("r1/fan[0]:ask", "r1/fan[1]:ask")
        await runner.answer("r1/fan[0]", Decision(ok=True))
        await runner.answer("r1/fan[1]", Decision(ok=False))
        assert (await run.result())["fan"] == {"5": Decision(ok=True), "6": Decision(ok=False)}


async def test_each_visit_of_a_cycle_waits_for_itself(store: Store) -> None:
    graph = Graph("review")
    graph.add("ask", Wait("ask", expect=bool))
    graph.add("end", step("end", lambda _: {}))
    graph.edge("ask", "end", when=lambda state: state["ask"])
    graph.edge("ask", "ask")
    graph.start("ask")
    graph.finish("end")
    async with running(store, graph) as runner:
        run = await runner.start(graph, run_id="r1")
        for number in (1, 2, 3):
            assert await run.settled() is RunStatus.WAITING
            assert run.waits == (f"r1/ask#{number}",)
            await runner.answer(f"r1/ask#{number}", number == 3)
        await run.result()


async def test_a_run_in_memory_cannot_wait() -> None:
    with pytest.raises(Exception, match="a run in memory cannot") as failed:
        await approval(Counted()).run({"topic": "tides"})
    assert isinstance(failed.value.__cause__, RunnerRequired)


def test_an_otherwise_without_a_time_is_refused() -> None:
    with pytest.raises(DefinitionError, match="give within="):
        Wait("ask", otherwise=True)


def test_an_otherwise_of_another_type_is_refused() -> None:
    with pytest.raises(CannotStore, match="otherwise of wait 'ask'"):
        Wait("ask", expect=Decision, within=1, otherwise=7)


async def test_a_runner_without_its_workflow_says_so(store: Store) -> None:
    work = approval(Counted())
    async with running(store, work) as runner:
        await (await runner.start(work, {"topic": "tides"}, run_id="r1")).settled()
    async with store, Runner(store) as stranger:
        with pytest.raises(LookupError, match="does not know"):
            await stranger.answer("r1/approval", {"ok": True})


async def test_observers_hear_of_waits(store: Store) -> None:
    recorder, clock = Recorder(), Clock()
    work = approval(Counted(), within=60, otherwise=Decision(ok=False))
    async with running(store, work, observer=recorder, clock=clock) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await run.settled()
        (opened,) = recorder.of(WaitOpened)
        assert (opened.run_id, opened.path, opened.kind) == ("r1", "approval", "answer")
        assert opened.due_at == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
        assert recorder.of(RunEnded)[-1].status == "waiting"
        await runner.answer("r1/approval", {"ok": True})
        await run.result()
    assert len(recorder.of(WaitOpened)) == 1
    assert [ended.status for ended in recorder.of(RunEnded)] == ["waiting", "completed"]


async def test_a_full_store_does_not_end_the_runner() -> None:
    class Full(MemoryStore):
        times = 0

        async def expire(self, now: float, limit: int = 100) -> datetime | None:
            Full.times += 1
            if Full.times == 1:
                raise StoreFull(Path("runs.db"))
            return await super().expire(now, limit)

    work = approval(Counted(), within=0.01, otherwise=Decision(ok=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_patience, "_PAUSE", 0.01)
        async with running(Full(), work) as runner:
            run = await runner.start(work, {"topic": "tides"})
            assert not (await run.result())["approval"].ok
    assert Full.times > 1


async def test_a_broken_store_ends_the_timers_and_nothing_else() -> None:
    broke = anyio.Event()

    class Broken(MemoryStore):
        async def expire(self, now: float, limit: int = 100) -> datetime | None:  # noqa: ARG002  # the store's signature
            broke.set()
            raise StoreFailed(Path("runs.db"), "a test")

    work = approval(Counted(), within=0.01)
    async with running(Broken(), work) as runner:
        run = await runner.start(work, {"topic": "tides"}, run_id="r1")
        await broke.wait()
        await runner.answer("r1/approval", {"ok": True})
        assert (await run.result())["approval"].ok
