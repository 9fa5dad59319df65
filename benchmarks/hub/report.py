"""The tables, and the page that they stand in."""

import os
import platform
import sys
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Final

from benchmarks.hub.figures import figures
from benchmarks.hub.instructions import instructions
from benchmarks.hub.scenarios import PEER, SCENARIOS, compare
from rich.console import Console
from rich.progress import Progress

BEGIN: Final = "<!-- benchmarks.hub writes from here -->"
END: Final = "<!-- hub ends here -->"


def report(rounds: int, scale: float, counted: int = 0) -> str:
    """Measure everything, and return it as Markdown; count the instructions of so many messages, too."""
    console = Console(stderr=True)
    load = f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f} before"
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("hub", total=rounds * (len(SCENARIOS) + 1) + 2)
        note = partial(progress.advance, task)
        rows = [*compare(rounds, scale, note), "", *figures(rounds, scale, note)]
    if counted:
        rows += ["", *instructions(counted)]
    peer = f", {PEER} {version(PEER)}" if find_spec("autogen_core") is not None else ""
    made = (
        f"`python -m benchmarks.hub {' '.join(sys.argv[1:])}` on {datetime.now(UTC):%Y-%m-%d}: "
        f"Python {platform.python_version()}, "
        f"anyio {version('anyio')}, pydantic {version('pydantic')}{peer}, {platform.system()} {platform.machine()}, "
        f"{load}, medians of {rounds} rounds."
    )
    return "\n".join([made, "", *rows])
