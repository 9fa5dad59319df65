"""Processes that work on one file: an owner that hears, and others that write for its runs.

    python -m tests.checkpoint._sqlite._beside owner FILE SECONDS
    python -m tests.checkpoint._sqlite._beside writer FILE NAME

Each tells what has happened, a line at a time.
"""

import os
import sqlite3
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import anyio
from tests.checkpoint._builders import new_run

from stagepost.checkpoint import (
    CheckpointError,
    Commit,
    Effect,
    EffectStatus,
    Lost,
    NewWait,
    Owner,
    SqliteStore,
    WaitKind,
)
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch

RUNS = 3
PLACES = 6


def say(*words: object) -> None:
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


async def begin(store: SqliteStore, owner: Owner) -> None:
    """Runs with waits and an effect in doubt, unless they are there."""
    for number in range(RUNS):
        lease, _ = await store.create(replace(new_run(f"run-{number}"), owner=owner.id))
        if lease is None:
            continue
        for place in range(PLACES):
            await store.wait(lease, NewWait(f"step-{place}", WaitKind.ANSWER, "ask"))
        await store.commit(Commit(lease=lease, effects=[Effect("doubt", "key", EffectStatus.INTENT)]))
        await store.wait(lease, NewWait("doubt", WaitKind.EFFECT, "key"))


async def own(file: str, seconds: str) -> None:
    """Hear, and say what; each third commit takes so long."""
    commits = 0

    def slowly(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        nonlocal commits
        commits += 1
        slow = [*batch, lambda _: time.sleep(float(seconds))] if commits % 3 == 0 and float(seconds) else batch
        return run_batch(connection, slow)[: len(batch)]

    async with SqliteStore(file, run_batch=slowly) as store:
        owner = await store.join("owner")
        await begin(store, owner)
        say("ready")
        async for change in store.changes(owner):
            assert not isinstance(change, Lost)
            say("told", change.run_id, change.news)  # before the store knows: who is killed in between tells it again
            await store.heard(owner, {change.run_id: change.news})


async def write(file: str, name: str) -> None:
    """Answer everything, send signals, settle what is in doubt, and cancel the last run at the end."""
    async with SqliteStore.inbox(file) as inbox:
        say("ready")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        for place in range(PLACES):
            for number in range(RUNS):
                run_id = f"run-{number}"
                await tried(f"answer {run_id} step-{place}", inbox.answer(run_id, f"step-{place}", value(name)))
                await tried(f"signal {run_id} {name}-{place}", inbox.signal(run_id, f"{name}-{place}", value(name)))
        for number in range(RUNS):
            run_id = f"run-{number}"
            await tried(f"settle {run_id} doubt", inbox.settle(run_id, "doubt", "key", value(name)))
        await tried(f"cancel run-{RUNS - 1} -", inbox.cancel(f"run-{RUNS - 1}"))
    say("end")


def value(name: str) -> bytes:
    return f'"{name}"'.encode()


async def tried(what: str, call: object) -> None:
    """Do something, and say what became of it."""
    try:
        await call  # type: ignore[misc]  # any of the inbox's
    except CheckpointError as error:
        say("refused", what, type(error).__name__)
    else:
        say("done", what)


if __name__ == "__main__":
    if sys.argv[1] == "owner":
        anyio.run(own, sys.argv[2], sys.argv[3])
    else:
        anyio.run(write, sys.argv[2], sys.argv[3])
