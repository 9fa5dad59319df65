"""Trying a step again after errors that pass."""

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._words import PATIENCE, Recorder, Store, running

from stagepost.hub import HandlerFailed, Hub
from stagepost.workflows import (
    Ask,
    Chain,
    ChainError,
    DefinitionError,
    ExtraMissing,
    MissingKey,
    Parallel,
    PatternError,
    Retry,
    RunCancelled,
    State,
    StepContext,
    StepResultError,
    StepRetried,
    StepTimeout,
    WorkflowError,
    step,
)


def at_once(**options: Any) -> Retry:
    return Retry(**{"first": 0, "jitter": 0, **options})


class Flaky:
    """Fails so many times, then goes well."""

    def __init__(self, failures: int, error: Callable[[], Exception] = ConnectionError) -> None:
        self.left = failures
        self.calls = 0
        self._error = error

    async def __call__(self, _: object) -> dict[str, int]:
        self.calls += 1
        self.left -= 1
        if self.left >= 0:
            raise self._error()
        return {"calls": self.calls}


async def test_a_step_is_tried_again_until_it_goes_well(store: Store) -> None:
    flaky = Flaky(2)
    work = Chain("work", [step("fetch", flaky, retry=at_once(on=ConnectionError))])
    async with running(store, work) as runner:
        state = await (await runner.start(work)).result()
    assert dict(state) == {"calls": 3}


async def test_the_last_attempts_error_is_the_steps() -> None:
    flaky = Flaky(9)
    with pytest.raises(ChainError) as caught:
        await Chain("work", [step("fetch", flaky, retry=at_once(attempts=3))]).run()
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert flaky.calls == 3


async def test_without_a_limit_it_is_tried_for_ever() -> None:
    with fail_after(PATIENCE):
        state = await Chain("work", [step("fetch", Flaky(50), retry=at_once(attempts=None, most=0))]).run()
    assert state["calls"] == 51


@pytest.mark.parametrize(
    ("on", "error", "calls"),
    [
        (ConnectionError, ConnectionRefusedError, 2),
        ((KeyError, ConnectionError), ConnectionError, 2),
        (lambda error: "later" in str(error), lambda: ValueError("come later"), 2),
        (ConnectionError, ValueError, 1),
        (lambda error: "later" in str(error), lambda: ValueError("never"), 1),
        (Exception, lambda: MissingKey("a", []), 1),
        (Exception, lambda: StepResultError("a", 1), 1),
        (WorkflowError, lambda: StepTimeout("a", 1), 2),
        (PatternError, lambda: ChainError("a", "b", ValueError(), index=0, state={}), 2),
    ],
    ids=["subclass", "several", "function", "other", "function says no", "engine", "result", "timeout", "inner run"],
)
async def test_only_errors_that_pass_are_tried_again(on: Any, error: Callable[[], Exception], calls: int) -> None:
    flaky = Flaky(1, error)
    work = Chain("work", [step("fetch", flaky, retry=at_once(on=on), catch=Exception, into="problem")])
    await work.run()
    assert flaky.calls == calls


async def test_the_time_between_attempts_doubles_up_to_a_limit_and_is_told() -> None:
    recorder = Recorder()
    retry = Retry(attempts=5, first=0.001, most=timedelta(milliseconds=4), jitter=0)
    await Chain("work", [step("fetch", Flaky(4), retry=retry)]).run(observer=recorder)
    told = recorder.of(StepRetried)
    assert [(event.attempt, event.seconds) for event in told] == [(1, 0.001), (2, 0.002), (3, 0.004), (4, 0.004)]
    assert {(event.path, event.error, event.level) for event in told} == {("fetch", "ConnectionError", "warning")}


async def test_jitter_adds_some_time() -> None:
    recorder = Recorder()
    retry = Retry(attempts=20, first=0, jitter=0.0001)
    await Chain("work", [step("fetch", Flaky(19), retry=retry)]).run(observer=recorder)
    waits = {event.seconds for event in recorder.of(StepRetried)}
    assert len(waits) > 1
    assert all(0 <= wait <= 0.0001 for wait in waits)


async def test_each_attempt_has_the_time_for_itself_and_what_fails_at_last_can_be_a_result() -> None:
    calls = 0

    async def linger(state: State) -> None:
        nonlocal calls
        calls += 1
        await anyio.sleep_forever()

    late = step(linger, timeout=0.01, retry=at_once(attempts=3), catch=TimeoutError, into="late")
    with fail_after(PATIENCE):
        state = await Chain("work", [late]).run()
    assert state["late"]["error"] == "StepTimeout"
    assert calls == 3


async def test_each_item_has_attempts_of_its_own() -> None:
    recorder, failed = Recorder(), set[int]()

    async def once(item: int, context: StepContext) -> int:
        if item not in failed:
            failed.add(item)
            raise ConnectionError
        return item

    fan = Parallel("fan", step(once, retry=at_once(attempts=2)), over="n")
    assert (await fan.run({"n": [1, 2, 3]}, observer=recorder))["fan"] == [1, 2, 3]
    assert {event.path for event in recorder.of(StepRetried)} == {"fan[0]", "fan[1]", "fan[2]"}


async def test_a_cancelled_run_is_not_tried_again(store: Store) -> None:
    calls, entered = 0, anyio.Event()

    async def linger(state: State) -> None:
        nonlocal calls
        calls += 1
        entered.set()
        await anyio.sleep_forever()

    work = Chain("work", [step(linger, retry=at_once())])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await entered.wait()
        await runner.cancel("r1")
        with pytest.raises(RunCancelled):
            await run.result()
    assert calls == 1


async def test_a_run_is_cancelled_between_attempts(store: Store) -> None:
    flaky = Flaky(9)
    work = Chain("work", [step("fetch", flaky, retry=Retry(first=3600, most=3600))])
    async with running(store, work) as runner:
        run = await runner.start(work, run_id="r1")
        await anyio.wait_all_tasks_blocked()
        await runner.cancel("r1")
        with pytest.raises(RunCancelled):
            await run.result()
    assert flaky.calls == 1


class Draft(BaseModel):
    words: list[str] = []


@pytest.mark.parametrize("state", [Draft, None], ids=["model", "typed key"])
async def test_an_attempt_sees_nothing_of_what_another_has_changed(state: type[BaseModel] | None) -> None:
    seen: list[list[str]] = []

    async def spoil(given: Any) -> None:
        words = given.words if isinstance(given, Draft) else given["draft"].words
        seen.append(list(words))
        words.append("spoilt")
        raise ConnectionError

    start = {"words": ["a"]} if state else {"draft": {"words": ["a"]}}
    types = None if state else {"draft": Draft}
    with pytest.raises(ChainError):
        await Chain("work", [step(spoil, retry=at_once(attempts=3))], state=state, types=types).run(start)
    assert seen == [["a"]] * 3


async def test_an_agent_is_asked_again() -> None:
    flaky = Flaky(2)

    async def answer(question: str) -> dict[str, int]:
        return await flaky(question)

    async with Hub() as hub:
        hub.register("agent", answer)
        ask = Ask("agent", lambda _: "hi", retry=at_once(on=HandlerFailed))
        with fail_after(PATIENCE):
            state = await Chain("work", [ask]).run(hub=hub)
    assert state["agent"] == {"calls": 3}


@pytest.mark.parametrize(
    "options",
    [{"attempts": 0}, {"first": -1}, {"most": float("nan")}, {"jitter": -1}],
    ids=lambda options: next(iter(options)),
)
def test_numbers_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=f"Retry: {next(iter(options))}="):
        Retry(**options)


def test_what_is_missing_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    with pytest.raises(ExtraMissing, match=r"Retry needs tenacity, .* pip install .*\[retry\]"):
        Retry()
