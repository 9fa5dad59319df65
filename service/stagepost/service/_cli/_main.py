"""Running the command."""

import sys
from io import TextIOWrapper

from ._commands._root import main


def run() -> None:
    """Run it with the arguments of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks
    main(prog_name="stagepost")
