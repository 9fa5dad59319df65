"""Eight processes race for a file, for a run and for an answer: one wins, and all others are told."""

from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from anyio import create_task_group, fail_after
from tests.checkpoint._builders import started
from tests.checkpoint._processes import Other, running

from stagepost.checkpoint import NewWait, RunStatus, SqliteStore, WaitKind, WaitStatus

RACERS = 8

# waits for the start, opens the file, tries to do what the second argument says, and stays for a while
RACER = """
import sys, anyio
from stagepost.checkpoint import CheckpointError, Closing, Commit, RunStatus, SqliteStore

async def opening(store):
    pass

async def finishing(store):
    lease = await store.claim(await store.join("racer"), "run")
    await anyio.sleep(0)
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))

async def answering(store):
    await store.answer("run", "approval", b'"%s"' % sys.argv[3].encode(), by=sys.argv[3])

async def main(path, deed, name):
    print("ready", flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)
    try:
        async with SqliteStore(path, lock_timeout=0, take_over=deed != "opening") as store:
            await globals()[deed](store)
            print("won", flush=True)
            await anyio.to_thread.run_sync(sys.stdin.readline)
    except CheckpointError as error:
        print(type(error).__name__, flush=True)
    await anyio.to_thread.run_sync(sys.stdin.readline)

anyio.run(main, *sys.argv[1:])
"""


async def race(file: Path, deed: str) -> list[str]:
    """What each of the racers says of itself; they stay until all have said it."""
    said = [""] * RACERS

    async def run(number: int, racer: Other) -> None:
        said[number] = await racer.line()

    with fail_after(60):
        async with AsyncExitStack() as stack:
            racers = [await stack.enter_async_context(running(RACER, file, deed, number)) for number in range(RACERS)]
            for racer in racers:
                assert await racer.line() == "ready"
            for racer in racers:
                await tell(racer)
            async with create_task_group() as tasks:
                for number, racer in enumerate(racers):
                    tasks.start_soon(run, number, racer)
            for racer in racers:
                await tell(racer)
                await tell(racer)
            for racer in racers:
                await racer.process.wait()
    return said


async def tell(racer: Other) -> None:
    assert racer.process.stdin is not None
    await racer.process.stdin.send(b"go\n")


async def test_p9_of_eight_processes_one_opens_the_file(file: Path) -> None:
    assert Counter(await race(file, "opening")) == {"won": 1, "StoreLocked": RACERS - 1}


async def test_p9_of_eight_processes_that_take_over_one_finishes_the_run(file: Path) -> None:
    async with SqliteStore(file) as store:
        await started(store)
    outcomes = Counter(await race(file, "finishing"))
    assert outcomes.pop("won") == 1
    assert set(outcomes) <= {"StoreTakenOver", "OwnershipLost", "RunNotOpen", "StoreLocked"}
    async with SqliteStore(file, lock_timeout=0) as store:
        assert (await store.load("run")).run.status is RunStatus.COMPLETED


async def test_p9_of_eight_processes_that_take_over_one_answers(file: Path) -> None:
    async with SqliteStore(file) as store:
        lease = await started(store)
        await store.wait(lease, NewWait("approval", WaitKind.ANSWER, "approval"))
    said = await race(file, "answering")
    outcomes = Counter(said)
    assert outcomes.pop("won") == 1
    assert set(outcomes) <= {"StoreTakenOver", "AlreadyAnswered", "StoreLocked"}
    async with SqliteStore(file, lock_timeout=0) as store:
        (wait,) = (await store.load("run")).waits
    assert (wait.status, wait.by) == (WaitStatus.ANSWERED, str(said.index("won")))
