"""SIGKILL at any instant loses nothing that was acknowledged."""

from pathlib import Path

import pytest
from anyio import fail_after
from tests.checkpoint._builders import claimed, save
from tests.checkpoint._processes import running

from stagepost.checkpoint import SqliteStore

COMMITTER = """
import os, sys, anyio
from stagepost.checkpoint import Commit, Frame, NewRun, SqliteStore

async def work(store, name):
    root = Frame("", 1, "next", {"seq": b"1"})
    lease, _ = await store.create(NewRun(name, "digest", 1, None, b"{}", 0, root))
    seq = 1
    while True:
        os.write(1, f"{name} {seq}\\n".encode())
        seq += 1
        await store.commit(Commit(lease=lease, frame=Frame("", seq, "next", {"seq": b"%d" % seq})))

async def main(path, durability, runs):
    async with SqliteStore(path, durability=durability) as store, anyio.create_task_group() as tasks:
        for number in range(int(runs)):
            tasks.start_soon(work, store, f"run-{number}")

anyio.run(main, *sys.argv[1:])
"""


def last_acknowledged(lines: list[str]) -> dict[str, int]:
    return {name: int(seq) for name, seq in (line.split() for line in lines)}


@pytest.mark.parametrize("durability", ["power", "process"])
@pytest.mark.parametrize(("runs", "acknowledgements"), [(1, 3), (1, 200), (20, 500)], ids=["early", "one", "many"])
async def test_p7_after_sigkill_every_acknowledged_commit_is_there(
    file: Path, durability: str, runs: int, acknowledgements: int
) -> None:
    with fail_after(20):
        async with running(COMMITTER, file, durability, runs) as process:
            lines = [await process.line() for _ in range(acknowledgements)]
            await process.kill()
            lines += await process.rest()
        async with SqliteStore(file, lock_timeout=0) as store:
            for name, seq in last_acknowledged(lines).items():
                root = (await store.load(name)).root
                assert root.seq in {seq, seq + 1}  # one may have been on its way to the acknowledgement
                assert root.state == {"seq": b"%d" % root.seq}


async def test_p7_runs_go_on_behind_a_sigkill(file: Path) -> None:
    with fail_after(20):
        async with running(COMMITTER, file, "power", 3) as process:
            for _ in range(20):
                await process.line()
            await process.kill()
        async with SqliteStore(file, lock_timeout=0) as store:
            for run in (await store.find()).items:
                lease = await claimed(store, run.run_id)
                seq = (await store.load(run.run_id)).root.seq
                await store.commit(save(lease, seq + 1))
                assert (lease.epoch, (await store.load(run.run_id)).root.seq) == (2, seq + 1)
