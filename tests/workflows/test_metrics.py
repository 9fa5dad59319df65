"""The metrics of runs for OpenTelemetry: what is counted of events, what is read of runner and store, what never."""

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Unpack

import pytest
from anyio import create_task_group, fail_after, sleep_forever, to_thread
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint
from tests.workflows._words import Gate, running

from stagepost.checkpoint import CountBy, Counts, MemoryStore, RunFilters, SqliteStore, StoreFull
from stagepost.workflows import (
    Chain,
    Parallel,
    Retry,
    RunFailed,
    RunLimit,
    Runner,
    RunnerNotOpen,
    RunnerStatistics,
    State,
    Wait,
    step,
)

pytest.importorskip("opentelemetry.sdk", reason="the extra is not installed")

from opentelemetry.sdk.metrics.export import Histogram
from tests._readings import Collected

import stagepost.workflows.otel
from stagepost.workflows.otel import RunMetrics

COUNT = "stagepost.run.count"
QUEUED = "stagepost.run.queued"
STATUS = "stagepost.run.status"
STEP = "stagepost.step"
WAITS_FOR = "stagepost.run.queued_for"


@pytest.fixture
def collected() -> Iterator[Collected]:
    made = Collected()
    yield made
    made.provider.shutdown()


def greet(state: State) -> Mapping[str, object]:
    return {"text": f"Hello {state['name']}"}


async def test_runs_and_steps_are_counted_and_timed(collected: Collected) -> None:
    greeting = Chain("greeting", [greet])
    async with running(MemoryStore(), greeting, observer=RunMetrics(collected.provider)) as runner:
        for name in ("Ada", "Alan"):
            await (await runner.start(greeting, {"name": name})).result()
    of = {"stagepost.workflow": "greeting"}
    ended, done = {**of, STATUS: "completed"}, {**of, STEP: "greet", "stagepost.outcome": "ok"}
    assert collected.numbers("stagepost.run.started") == [({**of, "stagepost.run.recovered": False}, 2)]
    assert collected.numbers("stagepost.run.ended") == [(ended, 2)]
    assert collected.numbers("stagepost.run.duration") == [(ended, 2)]
    assert collected.numbers("stagepost.step.ended") == [(done, 2)]
    assert collected.numbers("stagepost.step.duration") == [(done, 2)]
    assert collected.by("stagepost.commit.duration", "stagepost.workflow")["greeting"] >= 2


async def test_durations_are_in_seconds_and_have_buckets_for_them(collected: Collected) -> None:
    await Chain("greeting", [greet]).run({"name": "Ada"}, observer=RunMetrics(collected.provider))
    metric = collected.metrics()["stagepost.run.duration"]
    assert metric.unit == "s"
    assert isinstance(metric.data, Histogram)
    (point,) = metric.data.data_points
    assert point.explicit_bounds[0] == 0.01
    assert point.explicit_bounds[-1] == 14400


async def test_items_of_a_fan_out_are_one_place(collected: Collected) -> None:
    def invert(item: int) -> float:
        return 1 / item

    each = Parallel("each", over="numbers", worker=invert, into="inverted", failures="failed")
    await Chain("inverting", [each]).run({"numbers": list(range(50))}, observer=RunMetrics(collected.provider))
    about = {"stagepost.workflow": "inverting", STEP: "each"}
    points = collected.numbers("stagepost.item.ended")
    assert sorted(points, key=lambda point: point[1]) == [
        ({**about, "stagepost.outcome": "failed"}, 1),
        ({**about, "stagepost.outcome": "ok"}, 49),
    ]


async def test_steps_of_items_are_one_place(collected: Collected) -> None:
    def square(state: State) -> Mapping[str, object]:
        return {"square": state["item"] ** 2}

    each = Parallel("each", over="numbers", worker=Chain("work", [square]), into="squares")
    await Chain("squares", [each]).run({"numbers": list(range(50))}, observer=RunMetrics(collected.provider))
    assert collected.by("stagepost.step.ended", STEP) == {"each/square": 50}


async def test_failures_and_retries_are_counted_by_the_class_of_the_error(collected: Collected) -> None:
    def charge(state: State) -> None:
        raise TimeoutError("card 4711")

    billing = Chain("billing", [step("charge", charge, retry=Retry(attempts=2, first=0, jitter=0))])
    async with running(MemoryStore(), billing, observer=RunMetrics(collected.provider)) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(billing)).result()
    assert collected.by("stagepost.step.retried", "error.type") == {"TimeoutError": 1}
    assert collected.by("stagepost.step.ended", "stagepost.outcome") == {"failed": 1}
    assert collected.by("stagepost.run.ended", STATUS) == {"failed": 1}
    assert "4711" not in str(collected.metrics())


async def test_waits_are_counted_and_the_run_ends_twice(collected: Collected) -> None:
    asking = Chain("asking", [Wait("ok", expect=bool)])
    observer = RunMetrics(collected.provider)
    async with running(MemoryStore(), asking, observer=observer) as runner, observer.watching(runner, every=0):
        run = await runner.start(asking, run_id="a")
        await run.settled()
        while collected.by(COUNT, STATUS)["waiting"] != 1:
            await checkpoint()
        (wait,) = await runner.waits()
        await runner.answer(wait.id, True)
        await run.result()
        assert collected.by("stagepost.wait.opened", "stagepost.wait.kind") == {"answer": 1}
    assert collected.by("stagepost.run.ended", STATUS) == {"waiting": 1, "completed": 1}


async def test_runs_of_the_store_are_counted_by_status(collected: Collected, store: MemoryStore | SqliteStore) -> None:
    def fail(state: State) -> None:
        raise ValueError

    billing, greeting = Chain("billing", [fail]), Chain("greeting", [greet])
    metrics = RunMetrics(collected.provider)
    async with running(store, billing, greeting) as runner:
        await (await runner.start(greeting, {"name": "Ada"})).settled()
        await (await runner.start(billing)).settled()
        async with metrics.watching(runner):
            seen = await to_thread.run_sync(collected.by, COUNT, STATUS)  # as exporters collect
            assert seen == {"running": 0, "waiting": 0, "failed": 1, "dead": 0}
        assert collected.numbers(COUNT) == []


async def test_runs_in_line_and_for_a_slot_are_counted(collected: Collected) -> None:
    gate = Gate()
    slow, limited = Chain("slow", [gate.step]), Chain("limited", [greet])
    metrics, limits = RunMetrics(collected.provider), [RunLimit(workflow="slow", at_once=1)]
    async with running(MemoryStore(), slow, limited, max_running=1, limits=limits) as runner:
        runs = [await runner.start(workflow, {"name": "Ada"}) for workflow in (slow, slow, slow, limited)]
        async with metrics.watching(runner):
            assert runner.statistics() == RunnerStatistics(running=1, queued=1, in_line=2)
            assert collected.by(QUEUED, WAITS_FOR) == {"slot": 1, "limit": 2}
            assert collected.by(COUNT, STATUS)["running"] == 4
        gate.open.set()
        for run in runs:
            await run.result()
        assert runner.statistics() == RunnerStatistics(running=0, queued=0, in_line=0)


async def test_runners_that_are_watched_at_once_are_added_up(collected: Collected) -> None:
    asking, metrics = Chain("asking", [Wait("ok", expect=bool)]), RunMetrics(collected.provider)
    async with running(MemoryStore(), asking) as one, running(MemoryStore(), asking) as other:
        for runner in (one, other):
            await (await runner.start(asking)).settled()
        async with metrics.watching(one):
            async with metrics.watching(other):
                assert collected.by(COUNT, STATUS)["waiting"] == 2
            assert collected.by(COUNT, STATUS)["waiting"] == 1


async def test_a_store_that_cannot_be_read_is_logged_and_read_again(
    collected: Collected, caplog: pytest.LogCaptureFixture
) -> None:
    class Fragile(MemoryStore):
        is_broken = False

        async def count(self, *, by: CountBy | None = None, **filters: Unpack[RunFilters]) -> Counts:
            if self.is_broken:
                raise StoreFull(Path("runs.db"))
            return await super().count(by=by, **filters)

    store, greeting = Fragile(), Chain("greeting", [greet])
    async with running(store, greeting) as runner, RunMetrics(collected.provider).watching(runner, every=0):
        assert collected.numbers(COUNT)
        store.is_broken = True
        while collected.numbers(COUNT):
            await checkpoint()
        store.is_broken = False
        while not collected.numbers(COUNT):
            await checkpoint()
    assert "StoreFull" in caplog.text


async def watch(metrics: RunMetrics, runner: Runner, *, task_status: TaskStatus[None]) -> None:
    async with metrics.watching(runner, every=0):
        task_status.started()
        await sleep_forever()


async def test_a_runner_that_is_left_first_is_counted_no_more(collected: Collected) -> None:
    metrics, runner = RunMetrics(collected.provider), Runner(MemoryStore())
    with fail_after(20):
        with pytest.raises(RunnerNotOpen):
            async with metrics.watching(runner):
                pass
        async with create_task_group() as group:
            async with MemoryStore() as store, Runner(store) as entered:
                await group.start(watch, metrics, entered)
                assert collected.numbers(COUNT)
            while collected.numbers(COUNT):
                await checkpoint()
            group.cancel_scope.cancel()


async def test_what_a_block_raises_leaves_it_as_it_is(collected: Collected) -> None:
    metrics = RunMetrics(collected.provider)
    with pytest.raises(ZeroDivisionError):  # no group of exceptions
        async with running(MemoryStore()) as runner, metrics.watching(runner):
            raise ZeroDivisionError


def test_without_opentelemetry_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    spec = importlib.util.spec_from_file_location("stagepost.workflows.otel_again", stagepost.workflows.otel.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ImportError, match=r"needs opentelemetry-api, which is not installed: .*\[otel\]"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
