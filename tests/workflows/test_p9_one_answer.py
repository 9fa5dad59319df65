"""Eight processes race for one run and for one answer: one of them wins, and the others are told."""

from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.abc import SocketStream
from tests.checkpoint._processes import Other
from tests.checkpoint._processes import running as process
from tests.workflows._words import NOTHING, running

from stagepost.checkpoint import AlreadyAnswered, RunNotOpen, RunStatus, SqliteStore
from stagepost.workflows import Chain, Runner, Wait

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

COUNT = 8

# asks the owner over a socket to answer with its number, once it is told that all are ready
CLIENT = """
import sys, anyio

async def main():
    async with await anyio.connect_unix(sys.argv[1]) as owner:
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await owner.send(sys.argv[2].encode())
        print((await owner.receive()).decode(), flush=True)

anyio.run(main)
"""

# tries to own the file and to answer by itself, once it is told that all are ready
OWNER = """
import sys, anyio
from stagepost.checkpoint import SqliteStore, StoreLocked
from stagepost.workflows import Runner
from tests.workflows.test_p9_one_answer import workflow

async def main():
    print("ready", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    work = workflow()
    try:
        async with SqliteStore(sys.argv[1], lock_timeout=0) as store, Runner(store, workflows=[work]) as runner:
            await runner.recover()
            await runner.answer("r1/ask", int(sys.argv[2]))
            print((await (await runner.get("r1")).result())["ask"], flush=True)
            await anyio.to_thread.run_sync(sys.stdin.readline)
    except StoreLocked as error:
        print(type(error).__name__, flush=True)

anyio.run(main)
"""


def workflow() -> Chain:
    return Chain("work", [Wait("ask", expect=int), NOTHING])


async def parked(file: Path) -> None:
    work = workflow()
    async with running(SqliteStore(file), work) as runner:
        assert await (await runner.start(work, run_id="r1")).settled() is RunStatus.WAITING


async def tell(other: Other) -> None:
    """Let it go on."""
    assert other.process.stdin is not None
    await other.process.stdin.send(b"go on\n")


async def answers_of(others: list[Other]) -> list[str]:
    """What they say when they have been let go, all at once."""
    for other in others:
        assert await other.line() == "ready"
    async with anyio.create_task_group() as group:
        for other in others:
            group.start_soon(tell, other)
    return [await other.line() for other in others]


async def test_p9_of_eight_answers_one_counts(tmp_path: Path) -> None:
    work, address = workflow(), tmp_path / "owner"

    async def handle(runner: Runner, client: SocketStream) -> None:
        async with client:
            number = int(await client.receive())
            try:
                await runner.answer("r1/ask", number, by=f"process {number}")
            except (AlreadyAnswered, RunNotOpen) as error:
                await client.send(type(error).__name__.encode())
            else:
                await client.send(b"taken")

    with fail_after(60):
        async with (
            SqliteStore(tmp_path / "runs.db") as store,
            Runner(store, workflows=[work]) as runner,
            anyio.create_task_group() as group,
            AsyncExitStack() as stack,
        ):
            run = await runner.start(work, run_id="r1")
            await run.settled()
            server = await stack.enter_async_context(await anyio.create_unix_listener(address))
            group.start_soon(server.serve, lambda client: handle(runner, client))
            others = [await stack.enter_async_context(process(CLIENT, address, number)) for number in range(COUNT)]
            said = await answers_of(others)
            winner = said.index("taken")
            assert (await run.result())["ask"] == winner
            (wait,) = (await store.load("r1")).waits
            assert wait.by == f"process {winner}"
            group.cancel_scope.cancel()
    assert said.count("taken") == 1
    assert set(said) <= {"taken", "AlreadyAnswered", "RunNotOpen"}


async def test_p9_of_eight_processes_one_owns_the_run_and_answers(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    await parked(file)
    with fail_after(60):
        async with AsyncExitStack() as stack:
            others = [await stack.enter_async_context(process(OWNER, file, number)) for number in range(COUNT)]
            said = await answers_of(others)
            (winner,) = [number for number, word in enumerate(said) if word != "StoreLocked"]
            assert said[winner] == str(winner)
            await tell(others[winner])
            assert await others[winner].process.wait() == 0
    async with SqliteStore(file) as store:
        found = await store.load("r1")
    assert (found.run.status, found.root.state["ask"]) == (RunStatus.COMPLETED, str(winner).encode())
