"""Talk to it: ``python -m timesheet_assistant``; with ``--demo`` it shows what it does, and ends."""

import argparse
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import anyio
import anyio.to_thread

from stagepost.service.assistant import StageBudgets

from .core import Options, open_core
from .terminal import EXAMPLES, Talk


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="timesheet_assistant", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("timesheets"), help="where everything is kept")
    parser.add_argument("--pace", type=float, default=0.05, help="seconds that each local model thinks")
    parser.add_argument("--patience", type=float, help="seconds for each stage; by default 1 or 2")
    parser.add_argument("--demo", action="store_true", help="show what it does, and end")
    parser.add_argument("--conversation", default=None, help="go on with this one")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    log = logging.getLogger("stagepost")
    log.addHandler(logging.FileHandler(options.folder / "assistant.log"))
    log.propagate = False
    lines = _said(EXAMPLES) if options.demo else _typed()
    name = options.conversation or uuid4().hex[:8]
    budgets = StageBudgets.of(options.patience) if options.patience else StageBudgets()
    with suppress(KeyboardInterrupt):
        anyio.run(_talk, Options(options.folder, pace=options.pace, budgets=budgets), lines, name)
    return 0


async def _talk(options: Options, lines: AsyncIterator[str], name: str) -> None:
    async with open_core(options) as core:
        print(f"Everything is kept in {options.folder}/; edit {core.guide_path} while this runs.\n")
        await Talk(core, sys.stdout, name).hold(lines)


async def _typed() -> AsyncIterator[str]:
    """What is typed, until Ctrl-D."""
    while True:
        try:
            yield await anyio.to_thread.run_sync(input, "> ", abandon_on_cancel=True)
        except EOFError:
            return


async def _said(lines: Sequence[str]) -> AsyncIterator[str]:
    """Lines as if somebody typed them."""
    for line in lines:
        print(f"> {line}")
        yield line


if __name__ == "__main__":
    sys.exit(main())
