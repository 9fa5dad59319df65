"""A process that was stopped for longer than a disk may be silent goes on with its store."""

import os
import signal
import time
from pathlib import Path

import anyio
import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.checkpoint._builders import connect, insert
from tests.checkpoint._processes import running

from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite._writer import Writer

LIMIT = 1.0

# is stopped with requests that wait for their answer: at a commit, in the middle of one, or while it leaves
STOPPED = """
import os, signal, sys, anyio
from tests.checkpoint._builders import save, started
from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite._batch import run_batch
from stagepost.checkpoint._sqlite._writer import Writer

Writer.__init__.__kwdefaults__["limit"] = float(sys.argv[2])
leaves, runs = sys.argv[3] == "leaving", []

def stop(connection):
    print("stops", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    sys.stdin.readline()  # the other threads are stopped first

def run(connection, batch):
    runs.append(len(batch))
    if len(runs) == 3:
        stop(connection)
    return run_batch(connection, batch)

async def main():
    async with anyio.create_task_group() as tasks:
        async with SqliteStore(sys.argv[1], run_batch=run) as store:
            lease = await started(store)
            await store.commit(save(lease, 2))
            if leaves:
                tasks.start_soon(store.commit, save(lease, 3))
                await anyio.lowlevel.checkpoint()
            else:
                await store.commit(save(lease, 3))
                await store.commit(save(lease, 4))
    print("unharmed", flush=True)

anyio.run(main)
"""

# waits for the lock of another process when it is stopped, and gets it when that one has let go
WAITING = """
import sys, anyio
from stagepost.checkpoint import SqliteStore

async def main():
    async with anyio.create_task_group() as tasks:
        async def told():
            print("waits", flush=True)
        tasks.start_soon(told)
        async with SqliteStore(sys.argv[1], lock_timeout=float(sys.argv[2])):
            print("got it", flush=True)

anyio.run(main)
"""


async def passed(seconds: float) -> None:
    """Wait until so much time has passed for those who are stopped, too."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:  # noqa: ASYNC110  # a stopped process sets no event
        await anyio.sleep(0.05)


@pytest.mark.parametrize("when", ["working", "leaving"])
async def test_a_process_that_was_stopped_goes_on_with_its_store(file: Path, when: str) -> None:
    with fail_after(30):
        async with running(STOPPED, file, LIMIT, when) as other:
            assert await other.line() == "stops"
            await passed(2.5 * LIMIT)
            os.kill(other.process.pid, signal.SIGCONT)
            assert other.process.stdin is not None
            await other.process.stdin.send(b"go\n")
            assert await other.rest() == ["unharmed"]
        async with SqliteStore(file, lock_timeout=0) as store:
            assert (await store.load("run")).root.seq == (4 if when == "working" else 3)


async def test_a_stop_while_the_lock_is_waited_for_does_not_count(file: Path) -> None:
    store = SqliteStore(file)
    with fail_after(30):
        await store.__aenter__()
        async with running(WAITING, file, LIMIT) as other:
            assert await other.line() == "waits"
            await anyio.sleep(0.2)  # until it has tried
            os.kill(other.process.pid, signal.SIGSTOP)
            await passed(2 * LIMIT)
            await store.__aexit__(None, None, None)
            os.kill(other.process.pid, signal.SIGCONT)
            assert await other.rest() == ["got it"]


async def test_a_loop_that_was_held_up_counts_as_one_tick(file: Path) -> None:
    with fail_after(10):
        writer = Writer(file, connect(file), limit=1)
        await writer.start()
        for number in range(2):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(writer.write, insert(number))
                await checkpoint()
                time.sleep(1.3)  # noqa: ASYNC251  # that is the point
        await writer.close()
