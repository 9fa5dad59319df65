"""Taking up all open runs of a store, in a process of its own: how long that takes, and how much memory."""

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import anyio
from benchmarks.catalogue.filling import SUPPORT

from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.workflows import Runner


def recovered(file: Path) -> dict[str, float]:
    """Seconds until `recover` has returned and until nothing runs, and MB that this took beyond an open runner."""
    command = [sys.executable, "-m", "benchmarks.catalogue.recovering", str(file)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603  # our own
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


async def recover(file: Path) -> dict[str, float]:
    """The same in this process."""
    async with SqliteStore(file, durability="process") as store, Runner(store, workflows=[SUPPORT]) as runner:
        before, since = _most(), perf_counter()
        await runner.recover()
        returned = perf_counter() - since
        while (await runner.runs.count(status=RunStatus.RUNNING)).total:  # noqa: ASYNC110  # nobody tells of all
            await anyio.sleep(0.05)
        return {"recover": returned, "rest": perf_counter() - since, "memory": _most() - before}


def _most() -> float:
    """The most MB that this process has had."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):  # what getrusage says begins with what the parent had
            return int(line.split()[1]) / 2**10
    raise RuntimeError("this is measured on Linux only")


if __name__ == "__main__":
    print(json.dumps(anyio.run(recover, Path(sys.argv[1]))))
