"""The process of several agents is really killed; the model counts what it is asked, the tools what they do."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio import fail_after
from pydantic_core import from_json
from tests._forks import Forks
from tests.agents._expedition import ANSWERS, IN_FLIGHT, answering, expedition, times_asked, told
from tests.agents._mortal import Notes

from stagepost.agents import Allow
from stagepost.agents.testing import LocalServer
from stagepost.checkpoint import RunStatus, SqliteStore, WaitKind
from stagepost.workflows import Runner

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm: pip install 'stagepost[llm]'"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
]

LIFE = "import sys, anyio; from tests.agents._expedition import life; anyio.run(life, *sys.argv[1:])"

EVERY_ANSWER = {f"{agent} {turn}": 1 for agent, answers in ANSWERS.items() for turn in range(len(answers))}
LEAD = "lead 0"
RESPONSES = ["written", "Oslo is fine", "Rome, too"]
EVERY_TOOL = {"look Ann's": 1, "walk Oslo": 1, "walk Rome": 1, "mail ann": 1}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def killed(
    forks: Forks, folder: Path, server: LocalServer, *held: str, says: Sequence[str] = (), asks: str = LEAD
) -> None:
    """A process that is killed once it waits wherever it should, and the server has been asked."""
    script = folder / "life.py"
    script.write_text(LIFE)
    with forks.started(str(script), str(folder), server.url, *held, cwd=folder) as printed:
        due = {*held, *says}
        while due:
            line = await anyio.to_thread.run_sync(printed.readline, abandon_on_cancel=True)
            assert line, "it has ended"
            due.discard(line.strip())
        while asks not in times_asked(server):  # noqa: ASYNC110  # the server's threads have no events
            await anyio.sleep(0.01)


@asynccontextmanager
async def next_life(folder: Path, server: LocalServer) -> AsyncIterator[Runner]:
    """Now this process takes the run up."""
    agent = expedition(server.url, Notes(folder))
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
        await runner.recover()
        yield runner


async def allowed(runner: Runner) -> Any:
    """What the run comes to, once the call that it waits for is allowed."""
    run = await runner.get("root")
    assert await run.settled() is RunStatus.WAITING
    (wait,) = await runner.waits("root")
    assert (wait.workflow, wait.kind) == ("lead.writer", WaitKind.ANSWER)
    assert wait.shown == {"agent": "writer", "tool": "mail", "arguments": {"to": "ann"}, "rule": "needs_approval"}
    await runner.answer(wait.id, Allow(), by="ann")
    return await run.result()


def tools_called(folder: Path) -> Counter[str]:
    return Counter(event for event in Notes(folder).read() if " asks " not in event)


@pytest.mark.parametrize(
    "deaths",
    [[["scout asks 0"]], [["scout asks 1"], []]],
    ids=["while the other agent is asked first", "behind the other's tool, and where nothing goes on"],
)
async def test_p7_a_killed_team_asks_for_no_answer_twice_and_its_approval_still_waits(
    tmp_path: Path, deaths: list[list[str]], litellm_forks: Forks
) -> None:
    with fail_after(120):
        async with LocalServer(answering(ANSWERS)) as server:
            for held in deaths:
                says = ["approval"] if held else ["approval", "nothing goes on"]
                await killed(litellm_forks, tmp_path, server, *held, says=says)
            async with next_life(tmp_path, server) as runner:
                state = await allowed(runner)
    assert state["output"] == "all done"
    assert tools_called(tmp_path) == EVERY_TOOL
    assert times_asked(server) == EVERY_ANSWER
    assert [said["response"] for said in map(from_json, told(server, "lead 2"))] == RESPONSES


async def test_p7_what_was_in_flight_in_two_conversations_is_repeated_if_it_may_be(
    tmp_path: Path, litellm_forks: Forks
) -> None:
    with fail_after(120):
        async with LocalServer(answering(IN_FLIGHT, hanging="scout 0")) as server:
            await killed(litellm_forks, tmp_path, server, "look Bonn", "walk Bonn", "pay 5", asks="scout 0")
            async with next_life(tmp_path, server) as runner:
                run = await runner.get("root")
                assert await run.settled() is RunStatus.WAITING
                (wait,) = await runner.waits("root")
                assert (wait.workflow, wait.kind) == ("lead.worker", WaitKind.EFFECT)
                assert times_asked(server) == {"lead 0": 1, "scout 0": 2, "worker 0": 1}
                await runner.settle(wait.run_id, wait.name, value="paid by hand")
                state = await run.result()
    assert state["output"] == "all done"
    assert tools_called(tmp_path) == {"look Bonn": 2, "walk Bonn": 1, "pay 5": 1}
    assert times_asked(server) == {"lead 0": 1, "scout 0": 2, "worker 0": 1, "worker 1": 1, "lead 1": 1}
    looked, walked, paid = told(server, "worker 1")
    assert looked == "Bonn is there"
    assert walked.startswith("interrupted, outcome unknown: the process ended while walk was called.")
    assert paid == "paid by hand"
