"""A process that ends whatever the runs of a file wait for, always in the same way, beside their owner.

    python -m tests.workflows._answerer

It reads lines from its input, each a JSON list: the file, and for runs that are to be cancelled how much has to be said
before. An empty line ends that, and it says ``"over"``. Of each word that was acknowledged it writes a line, a JSON
list: the verb, the run, and the wait.
"""

import json
import sys
from collections.abc import Mapping

import anyio
from anyio import to_thread
from tests.workflows._meanings import answer_to, word_of

from stagepost.checkpoint import AlreadyAnswered, EffectNotFound, RunNotOpen, SqliteStore, WaitKind, WaitNotFound
from stagepost.workflows import Inbox, PendingWait

_LOST = (AlreadyAnswered, EffectNotFound, RunNotOpen, WaitNotFound)  # somebody else was first


def say(*words: object) -> None:
    print(json.dumps(words), flush=True)  # noqa: T201  # what it says to the test


async def end(inbox: Inbox, wait: PendingWait) -> bool:
    """End a wait; whether it was this that has."""
    match wait.kind:
        case WaitKind.ANSWER:
            await inbox.answer(wait.id, answer_to(wait.shown))
        case WaitKind.SIGNAL:
            return await inbox.signal(wait.run_id, wait.name, word_of(wait.name), dedup=wait.id)
        case WaitKind.EFFECT:
            await inbox.settle(wait.run_id, wait.name, value=wait.shown, place=wait.place)
        case _:
            return False
    return True


async def serve(file: str, cancelled: Mapping[str, int]) -> None:
    """Do so until cancelled."""
    said = 0
    async with SqliteStore.inbox(file) as store:
        inbox = Inbox(store)
        while True:
            for wait in await inbox.waits():
                try:
                    if said >= cancelled.get(wait.run_id, sys.maxsize):
                        await inbox.cancel(wait.run_id)
                        say("cancel", wait.run_id, "")
                    elif await end(inbox, wait):
                        say(wait.kind.value, wait.run_id, wait.id)
                        said += 1
                except _LOST:
                    continue
            await anyio.sleep(0.005)


async def main() -> None:
    """Serve one file after the other."""
    while line := (await to_thread.run_sync(sys.stdin.readline)).strip():
        async with anyio.create_task_group() as group:
            group.start_soon(serve, *json.loads(line))
            await to_thread.run_sync(sys.stdin.readline)
            group.cancel_scope.cancel()
        say("over")


if __name__ == "__main__":
    anyio.run(main)
