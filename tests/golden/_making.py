"""Making a golden store: runs are brought to where they are to be left, and the file is copied while they are there.

So it is what a killed process leaves. It is stored as a whole file, not as statements, since later versions have to
read what SQLite and stagepost have made of it; compressed, since most of its pages are nearly empty.
"""

import gzip
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
from anyio.lowlevel import checkpoint
from tests.golden._then import World, agents, workflows

from stagepost.agents import Tasks
from stagepost.checkpoint import Keep, SqliteStore
from stagepost.workflows import Continued, Pattern, Runner

FOLDER: Final = Path(__file__).parent
NOW: Final = 1_790_000_000.0  # seconds since 1970
_GATES: Final = {  # the runs that are left in the middle of a step, by what they have reached
    **{each: each for each in ("step", "item", "fold", "branch", "node", "effect")},
    "look": "looker",
    "send": "sender",
}
_STATES: Final[Mapping[str, Mapping[str, Any]]] = {
    "item": {"items": [1, 2, 3]},
    "items": {"items": [1, 2]},
    "fold": {"items": [1, 2, 3]},
    "answer": {"draft": "tides"},
    "talk": {"topic": "tides"},
}


def golden(version: str) -> Path:
    """The store that a version of stagepost has made."""
    return FOLDER / f"{version}.db.gz"


def unpacked(version: str, folder: Path) -> Path:
    """A copy of the store to work on."""
    file = folder / "runs.db"
    file.write_bytes(gzip.decompress(golden(version).read_bytes()))
    return file


def make(version: str) -> None:
    """Make the store of this version anew."""
    with TemporaryDirectory() as folder:
        file, copy = Path(folder, "runs.db"), Path(folder, "copy.db")
        anyio.run(_leave, file, copy)
        golden(version).write_bytes(gzip.compress(copy.read_bytes(), mtime=0))


async def _leave(file: Path, copy: Path) -> None:
    world = World(hangs=True)
    known, speaking = workflows(world), agents(world)
    async with (
        SqliteStore(file, clock=lambda: NOW) as store,
        Runner(store, workflows=[*known, *speaking], grace=0, clock=lambda: NOW) as runner,
    ):
        runs = [await runner.start(each, _STATES.get(each.name), **_options(each)) for each in known]
        runs += [await Tasks(runner).start(each, "Go.", task_id=each.name) for each in speaking]
        await _more(runner, {each.name: each for each in known})
        for run in runs:
            if run.id not in _GATES.values():
                await run.settled()
        while sorted(world.reached) != sorted(_GATES):
            await checkpoint()
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    async with SqliteStore.inbox(copy, clock=lambda: NOW) as inbox:  # nobody has heard of it
        await inbox.answer("given", "ask", b'{"ok":true}', by="Ada", checked=False)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _options(workflow: Pattern) -> dict[str, Any]:
    """Of some runs everything is kept, some have a key and labels."""
    options: dict[str, Any] = {"run_id": workflow.name}
    if workflow.name in {"item", "talk"}:
        options["keep"] = Keep.ALL
    if workflow.name == "answer":
        options |= {"key": "order 7", "labels": {"customer": "7"}, "trace": "t-1"}
    return options


async def _more(runner: Runner, known: Mapping[str, Pattern]) -> None:
    """Runs that have ended, one that goes on with another's list, one of which only the key is left."""
    for run_id in ("completed", "cancelled", "forgotten"):
        keep = Keep.NONE if run_id == "forgotten" else Keep.RESULT
        run = await runner.start(known["answer"], {"draft": run_id}, run_id=run_id, key=run_id, keep=keep)
        await run.settled()
    for run_id in ("completed", "forgotten"):
        await runner.answer(f"{run_id}/ask", {"ok": True})
        await (await runner.get(run_id)).result()
    await runner.cancel("cancelled")
    said = await runner.start(known["talk"], {"topic": "moon"}, run_id="said", keep=Keep.ALL)
    await said.settled()
    await runner.answer("said/reply", "sun")
    await (await runner.get("said")).result()
    begun = {"topic": "stars", "said": Continued("said", 2)}
    await (await runner.start(known["talk"], begun, run_id="continued")).settled()
