"""Servers as programs of their own that find the SDK imported, which takes a second of processor time otherwise."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests._forks import MCP, Fork, shared

_KNOWN: Final = "FORKS_OF_MCP"  # so that processes that are killed need no server of forks themselves


def python() -> tuple[str, ...]:
    """What starts a Python for those who start programs by a command, in place of ``sys.executable``."""
    known = os.environ.get(_KNOWN)
    if known is None:
        known = os.environ[_KNOWN] = json.dumps(shared(*MCP).command)
    return tuple(json.loads(known))


@contextmanager
def serving(script: Path, *arguments: object) -> Iterator[tuple[Fork, int]]:
    """A server behind HTTP, and its port, which it prints first."""
    with shared(*MCP).opened(str(script), *map(str, arguments)) as (process, printed):
        yield process, int(printed.readline())
