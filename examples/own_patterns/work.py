"""The process that works: ``python -m own_patterns.work FOLDER``, to be run again after any death."""

import argparse
import os
import signal
from pathlib import Path

import anyio

from stagepost.checkpoint import SqliteStore
from stagepost.hub import Event
from stagepost.workflows import NodeRevisited, Runner

from .parcel import parcel


class Death:
    """Kills this process when a round of the loop begins.

    Args:
        number: Which round; 0 for never.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def on_event(self, event: Event, /) -> None:
        """Look at which round it is."""
        if isinstance(event, NodeRevisited) and event.visits == self._number:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="own_patterns.work", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the store is, and what was said")
    parser.add_argument("--die-in", type=int, default=0, help="SIGKILL itself when this round begins")
    options = parser.parse_args()
    anyio.run(work, options.folder, options.die_in)


async def work(folder: Path, die_in: int) -> None:
    """Send the parcel, or go on with the one that a killed process has left."""

    def say(text: str) -> None:
        with (folder / "said.log").open("a") as log:
            log.write(f"{text}\n")

    async with (
        SqliteStore(folder / "runs.db") as store,
        Runner(store, workflows=[parcel], deps=say, observer=Death(die_in)) as runner,
    ):
        run = await runner.start(parcel, {}, run_id="parcel")
        await run.result()


if __name__ == "__main__":
    main()
