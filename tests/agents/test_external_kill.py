"""Processes are really killed between an external call and its value, and in calls of tools that were found."""

from pathlib import Path

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents._outsiders import BUYING, SEARCHING, outsider
from tests.agents._weather import results
from tests.checkpoint._processes import running

from stagepost.agents import ScriptEntry, Tasks, ToolMessage
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

WORK = "import sys, anyio; from tests.agents._outsiders import work; anyio.run(work, *sys.argv[1:])"
REPLY = "import sys, anyio; from tests.agents._outsiders import reply; anyio.run(reply, *sys.argv[1:])"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def killed(script: str, folder: Path, *arguments: str) -> None:
    """A process that is killed where the last argument says."""
    async with running(script, folder, *arguments) as process:
        assert (await process.line()).strip() == arguments[-1]
        await process.kill()


async def next_life(folder: Path, script: list[ScriptEntry], *, value: object = None) -> list[ToolMessage]:
    """Take the task up again, answer its call if there is a value, and give the results of its calls."""
    agent = outsider(Notes(folder), script)
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        tasks = Tasks(runner)
        if value is not None:
            (asked,) = await tasks.questions()  # before anybody works on it again
            assert (asked.task_id, asked.tool, asked.arguments) == ("t", "quote", {"item": "nails"})
            await tasks.answer(asked.id, value)
        await runner.recover()
        return results((await (await runner.get("t")).result())["messages"])


def counts(folder: Path, *events: str) -> list[int]:
    return [Notes(folder).read().count(event) for event in events]


async def test_a_call_that_waits_when_its_process_is_killed_is_answered_later(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(WORK, tmp_path, "buying", "settled")
        told = await next_life(tmp_path, BUYING, value=3)
    assert [result.text for result in told] == ["3", "sent to ann"]
    assert counts(tmp_path, "ask 0", "send ann", "ask 1") == [1, 1, 1]


async def test_a_value_is_there_once_it_is_acknowledged_whoever_is_killed_then(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(WORK, tmp_path, "buying", "settled")
        await killed(REPLY, tmp_path, "answered")
        told = await next_life(tmp_path, BUYING)
    assert [result.text for result in told] == ["7", "sent to ann"]
    assert counts(tmp_path, "ask 0", "send ann", "ask 1") == [1, 1, 1]


async def test_a_value_from_another_process_is_kept_by_a_worker_that_is_killed_with_it(tmp_path: Path) -> None:
    with fail_after(120):
        async with running(WORK, tmp_path, "buying", "ask 1") as worker:
            assert (await worker.line()).strip() == "waiting"
            await killed(REPLY, tmp_path, "answered")
            assert (await worker.line()).strip() == "ask 1"
            await worker.kill()
        told = await next_life(tmp_path, BUYING)
    assert [result.text for result in told] == ["7", "sent to ann"]
    assert counts(tmp_path, "ask 0", "send ann", "ask 1") == [1, 1, 2]


@pytest.mark.parametrize(
    ("held", "first", "second", "ships"),
    [
        ("ask 1", "shipped to ann", "shipped to bob", [1, 1]),
        ("ship ann", "interrupted, outcome unknown", "shipped to bob", [1, 1]),
        ("ask 2", "shipped to ann", "shipped to bob", [1, 1]),
        ("ship bob", "shipped to ann", "interrupted, outcome unknown", [1, 1]),
    ],
    ids=["before the first call", "in one of several calls", "between calls", "in the only call"],
)
async def test_tools_that_were_found_are_there_after_a_crash_and_called_once(
    tmp_path: Path, held: str, first: str, second: str, ships: list[int]
) -> None:
    with fail_after(120):
        await killed(WORK, tmp_path, "searching", held)
        told = await next_life(tmp_path, SEARCHING)
    by_tool = [result.text for result in told if result.tool == "ship_parcel"]
    assert [text.startswith(start) for text, start in zip(by_tool, (first, second), strict=True)] == [True, True]
    assert counts(tmp_path, "ship ann", "ship bob") == ships
    asked = [event for event in Notes(tmp_path).read() if event.startswith("ask") and ":" in event]
    assert {line for line in asked if not line.startswith("ask 0")} == {
        f"ask {turn}: look quote search_tools send ship_parcel" for turn in (1, 2, 3)
    }
