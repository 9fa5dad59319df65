"""Failures of runs are seen: logged once with their traceback, and kept with the run."""

import gc
import logging
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from anyio import fail_after
from pydantic import BaseModel, model_validator
from tests.workflows._words import NOTHING, PATIENCE, Gate, dying, running, until

from stagepost.checkpoint import Commit, MemoryStore, RunStatus, SqliteStore, StoreError
from stagepost.hub import Hub
from stagepost.workflows import (
    Chain,
    ChainError,
    ChildFailed,
    IncompatibleCheckpoint,
    LifespanFailed,
    Parallel,
    PatternError,
    RunFailed,
    Sleep,
    State,
    StepContext,
    Wait,
    step,
)


class Broken(Exception):
    pass


def breaks(state: Any) -> None:
    local_variable = "a value of the state"
    raise Broken(f"it is broken: {len(local_variable)}")


WORK = Chain("work", [NOTHING, Chain("inner", [step("bad", breaks, inline=True)])])


def errors_in(caplog: pytest.LogCaptureFixture) -> list[Mapping[str, Any]]:
    return [
        dict(cast("Mapping[str, Any]", record.msg))  # the fields are the message
        for record in caplog.records
        if record.name == "stagepost.workflows" and record.levelno >= logging.ERROR
    ]


async def fail(store: MemoryStore | SqliteStore, work: Any, **options: Any) -> RunFailed:
    async with running(store, work, **options) as runner:
        run = await runner.start(work, run_id="r1")
        with pytest.raises(RunFailed) as caught:
            await run.result()
    return caught.value


async def test_a_failed_run_is_logged_once_with_its_traceback(
    store: MemoryStore | SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    await fail(store, WORK)
    (told,) = errors_in(caplog)
    assert told["event"] == "run failed"
    assert (told["run_id"], told["workflow"], told["place"], told["attempt"]) == ("r1", "work", "inner/bad", 1)
    assert "in breaks" in told["exception"]
    assert "Broken: it is broken" in told["exception"]
    assert (
        told["error"]
        == "chain 'work' failed at step 'inner': chain 'inner' failed at step 'bad': Broken: it is broken: 20"
    )
    assert all(record.exc_info is None for record in caplog.records)
    assert "a value of the state" not in caplog.text


async def test_a_run_that_nobody_awaits_is_logged_as_well(caplog: pytest.LogCaptureFixture) -> None:
    async with running(MemoryStore(), WORK) as runner:
        await runner.start(WORK, run_id="r1")
        await until(lambda: bool(errors_in(caplog)))
    assert len(errors_in(caplog)) == 1


async def test_a_fan_out_is_logged_once_for_all_its_items(caplog: pytest.LogCaptureFixture) -> None:
    inner = Chain("inner", [step("bad", breaks, inline=True)])
    await fail(MemoryStore(), Parallel("fan", inner, over=lambda _: range(5), failures="lost"))
    (told,) = errors_in(caplog)
    assert told["place"] == "fan"
    assert "in breaks" in told["exception"]


async def test_partial_failures_that_are_collected_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    def picky(item: int) -> int:
        return 1 // item

    fan = Parallel("fan", step("picky", picky, inline=True), over=lambda _: [0, 1], failures="lost")
    async with running(MemoryStore(), fan) as runner:
        await (await runner.start(fan)).result()
    assert errors_in(caplog) == []


async def test_each_attempt_is_logged_with_its_number(caplog: pytest.LogCaptureFixture) -> None:
    async with running(MemoryStore(), WORK) as runner:
        for attempt in (runner.start(WORK, run_id="r1"), runner.resume("r1")):
            with pytest.raises(RunFailed):
                await (await attempt).result()
    assert [told["attempt"] for told in errors_in(caplog)] == [1, 2]


async def test_a_run_in_memory_is_not_logged_since_its_caller_has_the_error(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(PatternError):
        await WORK.run()
    assert errors_in(caplog) == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_another_process_finds_the_traceback_with_the_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    await fail(SqliteStore(path), WORK)
    async with running(SqliteStore(path), WORK) as runner:
        info, view = await runner.runs.info("r1"), await runner.runs.get("r1")
        with pytest.raises(RunFailed) as caught:
            await (await runner.get("r1")).result()
    assert info.error == view.error == caught.value.error
    assert info.error is not None
    assert info.error.endswith("Broken: it is broken: 20")
    assert info.traceback == view.traceback == caught.value.traceback
    assert info.traceback is not None
    assert "in breaks" in info.traceback
    assert "in breaks" in "".join(caught.value.__notes__)


async def test_in_the_same_process_the_error_has_its_cause(store: MemoryStore | SqliteStore) -> None:
    async with running(store, WORK) as runner:
        run = await runner.start(WORK, run_id="r1")
        await run.settled()
        del run
        gc.collect()
        with pytest.raises(RunFailed) as caught:
            await (await runner.get("r1")).result()
    assert isinstance(caught.value.__cause__, ChainError)
    assert caught.value.traceback is not None


async def test_a_long_traceback_is_stored_with_both_its_ends(store: MemoryStore | SqliteStore) -> None:
    def says_much(state: State) -> None:
        raise Broken("begin" + "x" * 500_000 + "end")

    await fail(store, Chain("work", [step("bad", says_much, inline=True)]))
    async with store:
        text = (await store.info("r1")).traceback
    assert text is not None
    assert len(text) < 70_000
    assert text.startswith("Traceback")


async def test_secrets_are_masked_wherever_a_failure_is_seen(
    store: MemoryStore | SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "sk-1234567890abcdef"  # noqa: S105  # of nobody

    async def blurt(state: State, context: StepContext) -> None:
        raise Broken(f"refused {context.secrets['key']}")

    failure = await fail(store, Chain("work", [blurt]), secrets={"key": secret})
    async with store:
        info = await store.info("r1")
    for text in (str(failure), failure.traceback, info.error, info.traceback, caplog.text, str(errors_in(caplog))):
        assert text is not None
        assert secret not in text
        assert "Broken: refused ***" in text
    assert "in blurt" in (info.traceback or "")


async def test_a_hub_masks_the_secrets_of_its_runner(caplog: pytest.LogCaptureFixture) -> None:
    secret = "sk-1234567890abcdef"  # noqa: S105  # of nobody

    async def blurt(text: str) -> None:
        raise Broken(f"refused {secret}")

    async with Hub() as hub, running(MemoryStore(), WORK, hub=hub, secrets={"key": secret}):
        hub.register("agent", blurt)
        await hub.send("agent", "x")
        await until(lambda: "refused" in caplog.text)
    assert secret not in caplog.text


async def test_a_failed_child_is_logged_as_the_run_that_it_is(caplog: pytest.LogCaptureFixture) -> None:
    child = Chain("child", [step("bad", breaks, inline=True)])

    async def parent(state: State, context: StepContext) -> dict[str, object]:
        try:
            await context.child(child, "below", {})
        except ChildFailed as error:
            return {"why": error.why}
        return {}

    work = Chain("work", [parent], companions=[child])
    async with running(MemoryStore(), work) as runner:
        await (await runner.start(work, run_id="r1")).result()
    assert [told["run_id"] for told in errors_in(caplog)] == ["r1.below"]


# runs that are left open, dead, and what runs beside them


class FullStore(MemoryStore):
    """Refuses a commit."""

    async def commit(self, commit: Commit) -> None:  # noqa: ARG002  # the protocol's signature
        raise StoreError("the disk is full")


async def test_a_run_that_is_left_open_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with running(FullStore(), WORK) as runner:
        run = await runner.start(WORK, run_id="r1")
        with pytest.raises(StoreError):
            await run.result()
    (told,) = errors_in(caplog)
    assert (told["event"], told["run_id"], told["why"]) == ("run left open", "r1", "StoreError: the disk is full")


async def test_leaving_the_runner_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    async with running(MemoryStore(), work, grace=0) as runner:
        await runner.start(work)
        await gate.entered.wait()
    assert errors_in(caplog) == []


async def test_a_dead_run_is_logged(store: MemoryStore | SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate()
    work = Chain("work", [gate.step])
    for _ in range(3):
        async with dying(store, work, max_attempts=1) as runner:
            if not gate.calls:
                await runner.start(work, run_id="r1")
                await gate.entered.wait()
            else:
                await runner.recover()
    assert [(told["event"], told["run_id"]) for told in errors_in(caplog)] == [("run is dead", "r1")]


@asynccontextmanager
async def breaks_at_its_end() -> AsyncIterator[None]:
    yield
    raise SystemExit(3)


async def test_a_lifespan_that_breaks_at_its_end_is_logged_and_raised_as_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    work = Chain("work", [NOTHING], lifespan=breaks_at_its_end)
    with pytest.raises(LifespanFailed, match="SystemExit: 3"):
        async with running(MemoryStore(), work) as runner:
            await (await runner.start(work)).result()
    assert [told["event"] for told in errors_in(caplog)] == ["lifespan failed"]


async def test_a_clock_that_breaks_is_logged_and_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([0.0] * 3)

    def clock() -> float:
        return next(answers, math.nan)

    work = Chain("work", [Sleep("nap", timedelta(seconds=1)), Wait("never")])
    async with running(MemoryStore(), work, clock=clock, keep_for=timedelta(1)) as runner:
        await runner.start(work)
        await until(lambda: any(told["event"] == "timers failed" for told in errors_in(caplog)))
        assert runner.clock is clock


async def test_a_completed_run_whose_state_cannot_be_made_says_so_and_stays_completed(
    store: MemoryStore | SqliteStore,
) -> None:
    ended: list[bool] = []

    class Model(BaseModel):
        number: int = 0

        @model_validator(mode="after")
        def _check(self) -> "Model":
            if ended:
                raise SystemExit(3)
            return self

    def last(state: Model, context: StepContext) -> None:
        return None

    work = Chain("work", [step("last", last, inline=True)], state=Model)

    class Ending:
        def on_event(self, event: object) -> None:
            if type(event).__name__ == "RunEnded":
                ended.append(True)

    async with running(store, work, observer=Ending()) as runner:
        run = await runner.start(work, run_id="r1")
        with fail_after(PATIENCE), pytest.raises(IncompatibleCheckpoint, match="SystemExit: 3"):
            await run.result()
        assert run.status is RunStatus.COMPLETED
