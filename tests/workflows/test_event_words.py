"""Events of runs in words."""

import logging
from typing import Any

import pytest

import stagepost.workflows
from stagepost.checkpoint import MemoryStore
from stagepost.hub import LogObserver
from stagepost.workflows import Chain, Runner, State
from stagepost.workflows import _events as events


async def shout(state: State) -> dict[str, Any]:
    return {"text": state["text"].upper()}


def test_each_event_of_a_run_has_words_and_the_ids_it_belongs_to() -> None:
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.RunEvent)]
    assert len(kinds) > 12
    for kind in kinds:
        assert bool(kind.log_words) == (kind is not events.RunEvent), kind
        assert kind.log_names == ("workflow", "run_id")


async def test_a_run_tells_what_happens_in_sentences(caplog: pytest.LogCaptureFixture) -> None:
    greet = Chain("greet", [shout])
    with caplog.at_level(logging.DEBUG, "stagepost.events"):
        async with MemoryStore() as store, Runner(store, workflows=[greet], observer=LogObserver()) as runner:
            run = await runner.start(greet, {"text": "hi"})
            await run.result()
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0].startswith("run started workflow=greet run_id=")
    assert any(line.startswith("step shout ended well after") for line in lines)
    assert lines[-1].startswith("run ended: completed, after")
    assert stagepost.workflows.RunEvent is events.RunEvent
