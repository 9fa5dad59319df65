"""Processes that work on one file: an owner with a runner, others that end whatever its runs wait for, one that holds.

    python -m tests.workflows._beside owner FILE SECONDS
    python -m tests.workflows._beside writer FILE NUMBER
    python -m tests.workflows._beside holder FILE

Each begins when it is told to by a line. The steps of a run append what they act on to FILE.notes, as effects that are
done once. A writer prints what was acknowledged, a line at a time: its verb, the run, where, and the value. The last
run is cancelled by them in between.
"""

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio

from stagepost.checkpoint import (
    AlreadyAnswered,
    EffectNotFound,
    RunNotOpen,
    RunStatus,
    SqliteStore,
    StoreLocked,
    WaitKind,
    WaitNotFound,
)
from stagepost.checkpoint._sqlite._batch import Outcome, Work, run_batch
from stagepost.workflows import (
    Chain,
    EffectNotDone,
    Inbox,
    Parallel,
    PendingWait,
    Receive,
    Runner,
    State,
    Step,
    StepContext,
    Wait,
    step,
)

RUNS = 4
VOTES = 5
OPEN = (RunStatus.RUNNING, RunStatus.WAITING)
LOST = (AlreadyAnswered, EffectNotFound, RunNotOpen, WaitNotFound)  # somebody else was first


def say(*words: object) -> None:
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def notes_of(file: Path) -> Path:
    """Where the steps note what they act on."""
    return file.with_suffix(".notes")


def words(file: Path) -> Chain:
    """A workflow that acts on an answer in each of its items, on two signals, and on word of an effect in doubt."""

    async def note(context: StepContext, *what: object) -> None:
        line = " ".join(map(str, (context.run_id, *what)))
        await context.once("note", partial(_append, file, line), on_unknown=partial(_look, file, line))

    def acts_on(key: str) -> Step:
        async def act(state: State, context: StepContext) -> None:
            await note(context, context.path.removesuffix("/act"), state[key])

        return step("act", act)

    async def pay(_state: State, context: StepContext) -> Mapping[str, object]:
        async def effect() -> None:
            _append(file, f"{context.run_id} paid")
            raise ConnectionError("cut")

        return {"receipt": await context.once("pay", effect, expect=int)}

    def signed(name: str) -> Chain:
        return Chain(name, [Receive("take", signal="sign", expect=int, into=name), acts_on(name)])

    vote = Chain("item", [Wait("vote", expect=int), acts_on("vote")])
    votes = Parallel("votes", vote, over=lambda _: list(range(VOTES)), workers=2)
    return Chain("words", [votes, signed("first"), signed("second"), pay, Chain("end", [acts_on("receipt")])])


def _append(file: Path, line: str) -> None:
    with notes_of(file).open("a") as notes:
        notes.write(f"{line}\n")


def _look(file: Path, line: str) -> None:
    if not notes_of(file).exists() or line not in notes_of(file).read_text().splitlines():
        raise EffectNotDone(line)


async def own(path: str, seconds: str) -> None:
    """Work on the runs; each third commit takes so long."""
    commits, work = 0, words(Path(path))

    def slowly(connection: sqlite3.Connection, batch: Sequence[Work]) -> list[Outcome]:
        nonlocal commits
        commits += 1
        slow = [*batch, lambda _: time.sleep(float(seconds))] if commits % 3 == 0 and float(seconds) else batch
        return run_batch(connection, slow)[: len(batch)]

    store = SqliteStore(path, lock_timeout=30, run_batch=slowly)
    async with store, Runner(store, workflows=[work], max_attempts=None) as runner:
        await runner.recover()
        for number in range(RUNS):
            await runner.start(work, run_id=f"r{number}")
        say("ready")
        await anyio.sleep_forever()


class Writer:
    """Ends all that it sees until no run is open.

    Args:
        inbox: Where it writes.
        number: Stands in all that it says.
    """

    def __init__(self, inbox: Inbox, number: int) -> None:
        self._inbox = inbox
        self._value = number * 1_000_000

    async def end(self, wait: PendingWait) -> None:
        """End one wait."""
        self._value += 1
        run_id, value = wait.run_id, self._value
        match wait.kind:
            case WaitKind.ANSWER:
                await self._try(self._inbox.answer(wait.id, value), "answer", run_id, wait.place, value)
            case WaitKind.SIGNAL if run_id == f"r{RUNS - 1}":
                await self._try(self._inbox.cancel(run_id), "cancel", run_id, "-", 0)
            case WaitKind.SIGNAL:
                sent = self._inbox.signal(run_id, "sign", value, dedup=wait.id)
                await self._try(sent, "signal", run_id, wait.place, value)
            case _:
                settled = self._inbox.settle(run_id, wait.name, value=value)
                await self._try(settled, "settle", run_id, wait.place, value)

    async def _try(self, call: Awaitable[bool | None], *what: object) -> None:
        try:
            is_new = await call
        except LOST:
            return
        except StoreLocked:  # who holds it goes on later
            say("locked")
            return
        if is_new is not False:
            say(*what)


async def write(path: str, number: str) -> None:
    """End whatever runs wait for, until none is open."""
    async with SqliteStore.inbox(path) as store:
        writer = Writer(inbox := Inbox(store, workflows=[words(Path(path))]), int(number))
        while (await store.find(status=OPEN, limit=1)).items:
            for wait in await inbox.waits():
                await writer.end(wait)
            await anyio.sleep(0.01)
    say("end")


def _hold(_: object) -> None:
    say("holds")
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.5)  # the other threads are stopped first


async def hold(path: str) -> None:
    """Be stopped with the write lock in hand."""
    async with SqliteStore.inbox(path) as store:
        await store._sink.write(_hold)  # there is no other way to be stopped there
    say("end")


if __name__ == "__main__":
    role, *arguments = sys.argv[1:]
    roles: Mapping[str, Callable[..., Awaitable[None]]] = {"owner": own, "writer": write, "holder": hold}
    sys.stdin.readline()
    anyio.run(roles[role], *arguments)
