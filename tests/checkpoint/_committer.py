"""A process that commits to a few runs at once, twice: it closes the store in between and opens it again.

    python -m tests.checkpoint._committer FOLDER DURABILITY STEPS

Whatever was acknowledged is a line of FOLDER/told: the run and its version.
"""

import os
import sys
from pathlib import Path
from typing import cast

import anyio

from stagepost.checkpoint import Commit, Frame, NewRun, Owner, RunNotFound, SqliteStore
from stagepost.checkpoint._sqlite import _connect, _thread
from stagepost.checkpoint._sqlite._connect import Durability

RUNS = 4


def state_of(name: str, seq: int) -> dict[str, bytes]:
    """The state of a run at a version, of a size that varies."""
    return {"seq": b"%d" % seq, "fill": b'"' + name.encode() * (seq * 37 % 400) + b'"'}


async def work(store: SqliteStore, owner: Owner, name: str, steps: int, told: int) -> None:
    """Go on with a run, which is started if there is none."""
    try:
        lease, seq = await store.claim(owner, name), (await store.load(name)).root.seq
    except RunNotFound:
        root = Frame("", 1, "next", state_of(name, 1))
        created, _ = await store.create(NewRun(name, "digest", 1, None, b"{}", owner.id, root))
        assert created is not None
        lease, seq = created, 1
    for version in range(seq + 1, seq + 1 + steps):
        await store.commit(Commit(lease=lease, frame=Frame("", version, "next", state_of(name, version))))
        os.write(told, f"{name} {version}\n".encode())


async def main(*arguments: str) -> None:
    """Commit, close, open and commit."""
    folder, durability, steps = arguments
    for module in (_connect, _thread):
        vars(module)["LARGEST_WAL"] = 150_000  # so that the WAL is copied and begun again in between
    told = os.open(Path(folder) / "told", os.O_CREAT | os.O_WRONLY)
    for _ in range(2):
        async with (
            SqliteStore(Path(folder) / "runs.db", durability=cast("Durability", durability)) as store,
            anyio.create_task_group() as tasks,
        ):
            owner = await store.join("committer")
            for number in range(RUNS):
                tasks.start_soon(work, store, owner, f"run-{number}", int(steps), told)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
