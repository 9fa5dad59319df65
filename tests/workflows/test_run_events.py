import dataclasses

import pytest
from tests.workflows._words import NOTHING, Counted, Recorder, Store, running

from stagepost.workflows import (
    Chain,
    Conditional,
    Parallel,
    PatternError,
    RunEnded,
    RunEvent,
    RunFailed,
    RunStarted,
    State,
    step,
)


def way(state: State) -> str:
    return "on"


def work(*last: object) -> Chain:
    items = Parallel("items", step("item", lambda item: item, inline=True), over=lambda _: [1, 2], workers=1)
    return Chain("work", [NOTHING, items, Conditional("choice", way, {"on": Counted().adds("a")}), *last])  # type: ignore[list-item]  # steps


STORY = [
    "RunStarted",
    "StepStarted",
    "StepEnded",
    "ItemsFrozen",
    "ItemEnded",
    "ItemEnded",
    "RouteTaken",
    "StepStarted",
    "StepEnded",
    "RunEnded",
]


async def test_a_run_tells_what_happens() -> None:
    recorder = Recorder()
    await work().run(observer=recorder)
    assert recorder.names == STORY
    events = recorder.of(RunEvent)
    assert {(event.workflow, event.run_id) for event in events} == {("work", events[0].run_id)}
    (ended,) = recorder.of(RunEnded)
    assert ended.status == "completed"
    assert ended.seconds >= 0


async def test_a_stored_run_tells_the_same(store: Store) -> None:
    recorder, workflow = Recorder(), work()
    async with running(store, workflow, observer=recorder) as runner:
        await (await runner.start(workflow)).result()
    assert recorder.names == STORY


async def test_events_never_hold_a_value_of_the_state() -> None:
    recorder = Recorder()
    await work(step("secret", lambda _: {"password": "hunter2"})).run({"token": "hunter2"}, observer=recorder)
    assert "hunter2" not in repr([dataclasses.asdict(event) for event in recorder.events])


async def test_a_failure_is_told(store: Store) -> None:
    recorder, workflow = Recorder(), Chain("work", [Counted().fails("b")])
    async with running(store, workflow, observer=recorder) as runner:
        with pytest.raises(RunFailed):
            await (await runner.start(workflow)).result()
    assert recorder.names == ["RunStarted", "StepStarted", "StepEnded", "RunEnded"]
    assert [event.status for event in recorder.of(RunEnded)] == ["failed"]
    assert [event.recovered for event in recorder.of(RunStarted)] == [False]


async def test_an_observer_that_fails_harms_nobody() -> None:
    class Broken:
        def on_event(self, event: object, /) -> None:  # noqa: ARG002  # the protocol's signature
            raise ValueError("broken observer")

    assert (await work().run(observer=Broken()))["items"] == [1, 2]
    with pytest.raises(PatternError, match="b is broken"):
        await Chain("work", [Counted().fails("b")]).run(observer=Broken())
