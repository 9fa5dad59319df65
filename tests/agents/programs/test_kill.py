"""Processes are really killed at each call of a program: the next one runs it again against what is committed."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from tests.agents._mortal import Notes
from tests.agents.programs._dying import mailer
from tests.checkpoint._processes import running

from stagepost.agents import Allow, Tasks, UserMessage
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Inbox, Runner

WORK = "import sys, anyio; from tests.agents.programs._dying import work; anyio.run(work, *sys.argv[1:])"
DONE = {
    "ask 0": 1, "look Oslo": 1, "send ann": 1, "send bob": 1, "pay dan": 1, "pay eve": 1, "look town-0": 1,
    "send carl": 1, "ask 1": 1,
}  # fmt: skip
KEPT = "#'kept"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def killed(folder: Path, *held: str) -> None:
    """A process that is killed once it is where it should be."""
    async with running(WORK, folder, *held) as process:
        assert {(await process.line()).strip() for _ in held} == set(held)
        await process.kill()


async def last_life(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Take the task up again, allow what it asks for; its result, and what its model was told."""
    agent = mailer(Notes(folder))
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        tasks = Tasks(runner)
        await runner.recover()
        async with tasks.stream("task") as stream:
            async for part in stream:
                if part.type == "approval_requested":  # it is told again, and may be decided already
                    for wanted in await tasks.approvals():
                        await tasks.decide(wanted.id, Allow())
        task = await tasks.get("task")
        said = [message.text for message in task.messages if isinstance(message, UserMessage)]
        output = (await (await runner.get("task")).result())["output"]
        return output, said[1:]


@pytest.mark.parametrize(
    ("held", "again"),
    [
        (["ask 0"], {"ask 0": 2}),
        (["look Oslo"], {"look Oslo": 2}),
        (["parked"], {"parked": 1}),
    ],
    ids=["before the program", "in a call that may be repeated", "while its branches wait for people"],
)
async def test_a_program_goes_on_where_its_process_was_killed(
    tmp_path: Path, held: list[str], again: dict[str, int]
) -> None:
    with fail_after(120):
        await killed(tmp_path, *held)
        output, told = await last_life(tmp_path)
    assert Counter(Notes(tmp_path).read()) == {**DONE, **again}
    assert output["kept"] == KEPT
    assert [text.startswith("Stored, to be read by name: began, kept") for text in told] == [True]


@pytest.mark.parametrize(
    ("held", "done"),
    [
        (["send ann", "send bob"], ["look Oslo", "send ann", "send bob"]),
        (["pay dan", "pay eve"], ["look Oslo", "send ann", "send bob", "pay dan", "pay eve"]),
        (["send carl"], ["look Oslo", "send ann", "send bob", "pay dan", "pay eve", "look town-0", "send carl"]),
    ],
    ids=["in branches", "in branches that were allowed", "in the last call"],
)
async def test_a_call_that_may_not_be_repeated_is_an_error_of_the_program(
    tmp_path: Path, held: list[str], done: list[str]
) -> None:
    with fail_after(120):
        if "pay dan" in done:
            await killed(tmp_path, "parked")
            await allowed(tmp_path)
        await killed(tmp_path, *held)
        _, told = await last_life(tmp_path)
    events = Counter(Notes(tmp_path).read())
    assert {event: events[event] for event in done} == dict.fromkeys(done, 1)
    assert f"Tool '{held[0].split()[0]}' failed: interrupted, outcome unknown" in told[0]


async def allowed(folder: Path) -> None:
    """Allow what the task waits for, while nobody works on it."""
    async with SqliteStore.inbox(folder / "runs.db") as store:
        inbox = Inbox(store)
        for wait in await inbox.waits("task"):
            await inbox.answer(wait.id, Allow())


async def test_a_program_that_is_killed_again_and_again_calls_everything_once(tmp_path: Path) -> None:
    with fail_after(120):
        await killed(tmp_path, "parked")
        await allowed(tmp_path)
        await killed(tmp_path, "look town-0")
        await killed(tmp_path, "look town-0")
        await killed(tmp_path, "ask 1")
        output, _ = await last_life(tmp_path)
    assert Counter(Notes(tmp_path).read()) == {**DONE, "parked": 1, "look town-0": 3, "ask 1": 2}
    assert output["kept"] == KEPT
