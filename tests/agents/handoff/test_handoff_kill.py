"""A process dies around a handoff: the conversation is with one agent then, and every call has its result."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents.handoff._desk import ASKED, desk, served
from tests.agents.test_crash import MortalStore
from tests.checkpoint._processes import running

from stagepost.agents import AssistantMessage, ToolMessage
from stagepost.checkpoint import CheckpointError, SqliteStore
from stagepost.workflows import RunnerStopped

LIFE = "import sys, anyio; from tests.agents.handoff._desk import life; anyio.run(life, *sys.argv[1:])"
COMMITS = 11


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def check(task: Any, folder: Path) -> None:
    assert (task.agent, task.output, task.turns) == ("triage", "Anything else?", 4)
    calls = [call.id for message in task.messages if isinstance(message, AssistantMessage) for call in message.calls]
    results = [message for message in task.messages if isinstance(message, ToolMessage)]
    assert [message.call_id for message in results] == calls
    assert [results[0].text, results[1].text, results[3].text] == [
        "bought",
        "refunds has the conversation now",
        "triage has the conversation now",
    ]
    events = Counter(Notes(folder).read())
    assert set(ASKED) == {event for event in events if event.startswith(("triage", "refunds"))}
    assert sum(events[asked] for asked in ASKED) <= len(ASKED) + 1, "an answer that was committed was asked for again"
    assert events["pay 7"] <= 1
    assert events["pay 7"] == 1 or results[2].text.startswith("interrupted, outcome unknown")


async def test_an_uninterrupted_run_takes_so_many_commits(tmp_path: Path) -> None:
    store = MortalStore()
    with fail_after(5):
        check(await served(store, desk(Notes(tmp_path))), tmp_path)
    assert store.commits == COMMITS


@pytest.mark.parametrize("instant", ["before", "behind"])
@pytest.mark.parametrize("last", range(COMMITS))
async def test_wherever_a_process_dies_one_agent_has_the_conversation(
    tmp_path: Path, last: int, instant: Literal["before", "behind"]
) -> None:
    store = MortalStore()
    store.last, store.instant = last, instant
    with fail_after(5):
        with pytest.raises((CheckpointError, RunnerStopped)):
            await served(store, desk(Notes(tmp_path)))
        store.last = None
        check(await served(store, desk(Notes(tmp_path))), tmp_path)


HELD = {
    "in the answer that hands over": ["triage 0"],
    "in a call beside it": ["look 7", "made transfer_to_refunds"],
    "between the handoff and its commit": ["made look", "made transfer_to_refunds"],
    "in the first answer of the other agent": ["refunds 1"],
    "in its call": ["pay 7"],
    "between the handoff back and its commit": ["made transfer_to_triage"],
    "in the last answer": ["triage 3"],
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
async def test_a_killed_process_leaves_the_conversation_with_one_agent(tmp_path: Path, held: list[str]) -> None:
    with fail_after(120):
        async with running(LIFE, tmp_path, *held) as process:
            assert {(await process.line()).strip() for _ in held} == set(held)
            await process.kill()
        check(await served(SqliteStore(tmp_path / "runs.db"), desk(Notes(tmp_path))), tmp_path)
