"""The process that counts: ``python -m word_count.work FOLDER OUTPUT``, to be run again after any death."""

import argparse
import os
import signal
from functools import partial
from pathlib import Path

import anyio

from stagepost.checkpoint import SqliteStore
from stagepost.hub import Event, MultiObserver
from stagepost.workflows import ItemEnded, ProgressObserver, Runner

from .counting import as_report
from .workflow import word_count


class Death:
    """Kills this process when a part of the items are counted and saved.

    Args:
        part: Which part of them.
    """

    def __init__(self, part: float) -> None:
        self._part = part

    def on_event(self, event: Event, /) -> None:
        """Look at how far it is."""
        if isinstance(event, ItemEnded) and event.done >= event.total * self._part:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="word_count.work", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the texts are")
    parser.add_argument("output", type=Path, help="where the store is, and what comes of it")
    parser.add_argument("--die-at", type=float, default=2, help="SIGKILL itself when this part of the files is done")
    options = parser.parse_args()
    anyio.run(work, options.folder, options.output, options.die_at)


async def work(folder: Path, output: Path, die_at: float) -> None:
    """Count, or go on with the count that a killed process has left, and write down the result."""
    log = partial(_append, output / "begun.log")
    with ProgressObserver() as bars:
        observer = MultiObserver(bars, Death(die_at))
        async with (
            SqliteStore(output / "runs.db") as store,
            Runner(store, workflows=[word_count], deps=log, observer=observer) as runner,
        ):
            run = await runner.start(word_count, {"folder": str(folder)}, run_id="words")
            state = await run.result()
    await anyio.Path(output / "words.txt").write_text(as_report(state["words"]))


def _append(file: Path, line: str) -> None:
    with file.open("a") as log:
        log.write(f"{os.getpid()} {line}\n")


if __name__ == "__main__":
    main()
