"""What the command's exit codes mean."""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class Exit(IntEnum):
    """How a command has ended."""

    OK = 0
    FOUND = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    NO_STORE = 5
    WAITING = 6
    DEFECT = 70
    NOT_WRITTEN = 74
    INTERRUPTED = 130


MEANINGS: Final[Mapping[Exit, str]] = MappingProxyType(
    {
        Exit.OK: "done; of a run that was followed: it has completed",
        Exit.FOUND: "the run has failed, died or was cancelled; there is damage, a run that could not go on, or a bad "
        "cell of an evaluation",
        Exit.USAGE: "the command line is wrong, or what `--app` names",
        Exit.NOT_FOUND: "there is no such run, wait, effect, signal, workflow or schedule",
        Exit.REFUSED: "refused: another process owns the file, the key may not, or the run is not in a state for this",
        Exit.NO_STORE: (
            "the file is missing, no store, of another version, or may not be read or written; or no service answers"
        ),
        Exit.WAITING: "the run that was followed waits for somebody",
        Exit.DEFECT: "the command itself has failed; `--debug` shows where",
        Exit.NOT_WRITTEN: "what was found could not be written, such as when the disk is full",
        Exit.INTERRUPTED: "Ctrl-C",
    }
)
