"""A process that writes for the runs of a file beside its owner, as its arguments say.

    python -m tests.workflows._outsider FILE KNOWS

It reads lines from its input, each a JSON list of a verb of `Inbox` and its arguments, and writes a line for each:
``ok``, or the name of the error. KNOWS is ``checked`` if it has the definitions, otherwise ``plain``.
"""

import json
import sys
from typing import Any

import anyio
from anyio import to_thread
from tests.workflows._waiting_inbox import asked

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Inbox


async def do(inbox: Inbox, verb: str, arguments: list[Any], options: dict[str, Any]) -> str:
    try:
        await getattr(inbox, verb)(*arguments, **options)
    except Exception as error:  # noqa: BLE001  # its name is the answer
        return type(error).__name__
    return "ok"


async def main(*said: str) -> None:
    file, knows = said
    workflows = [asked()] if knows == "checked" else []
    async with SqliteStore.inbox(file) as store:
        inbox = Inbox(store, workflows=workflows, secrets={"key": "sk-live-4711"})
        print("ready", flush=True)  # noqa: T201  # what it says to the test
        while line := await to_thread.run_sync(sys.stdin.readline):
            verb, arguments, options = json.loads(line)
            print(await do(inbox, verb, arguments, options), flush=True)  # noqa: T201  # likewise


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
