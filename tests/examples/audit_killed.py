"""An audit that kills its own process at a given point; run by the tests as ``audit_killed.py JOB LOG POINT``.

POINT is ``before:N``, ``within:N`` or ``after:N`` (the N-th transaction: before it begins, before it commits, before
callers hear of it), ``during:NAME:N`` (the N-th call of a function that does the work), or ``never``. LOG gets a line
for every piece of work that begins.
"""

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from dependency_audit import agents
from dependency_audit.worker import Job, work

from stagepost.checkpoint import SqliteStore
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch

WORK = {
    "inventory": "find_distributions",
    "inspect": "inspect",
    "judge": "judge",
    "analyst": "write_finding",
    "editor": "render",
}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def deadly_batches(moment: str, number: int) -> Callable[[sqlite3.Connection, Sequence[Work]], list[Outcome]]:
    numbers = count(1)

    def batch(connection: sqlite3.Connection, works: Sequence[Work]) -> list[Outcome]:
        if next(numbers) != number:
            return run_batch(connection, works)
        if moment == "before":
            die()
        if moment == "within":
            return run_batch(connection, [*works, lambda _connection: die()])
        outcomes = run_batch(connection, works)
        die()
        return outcomes

    return batch


def log_work(log: Path, deadly: str, number: int) -> None:
    """Log every piece of work as it begins, and die in the middle of one."""

    def logged(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        calls = count(1)  # several threads inspect at once

        def call(*arguments: Any, **options: Any) -> Any:
            about = getattr(arguments[0], "metadata_path", "") if arguments else ""
            agents.append_line(log, f"{name} {about}".strip())
            call_number = next(calls)
            result = function(*arguments, **options)
            if name == deadly and call_number == number:
                die()
            return result

        return call

    for name, attribute in WORK.items():
        setattr(agents, attribute, logged(name, getattr(agents, attribute)))


def main() -> None:
    job, log, (moment, *rest) = Job(**json.loads(sys.argv[1])), Path(sys.argv[2]), sys.argv[3].split(":")
    if moment == "during":
        log_work(log, rest[0], int(rest[1]))
        anyio.run(work, job)
        return
    log_work(log, "", 0)
    store = SqliteStore(job.store, run_batch=deadly_batches(moment, int(rest[0]))) if rest else SqliteStore(job.store)

    async def killed() -> None:
        await work(job, store=store)

    anyio.run(killed)


if __name__ == "__main__":
    main()
