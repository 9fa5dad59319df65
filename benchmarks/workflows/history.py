"""A conversation that grows: two hundred turns, each of which adds a message of five hundred bytes to the state."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final, TypeAlias

import anyio
from benchmarks.workflows.measure import Measure, database, kilobyte, written

_EDGE: Final = 20  # turns at the beginning and at the end that are compared
Mark: TypeAlias = Callable[[], None]
Talk: TypeAlias = Callable[[Path, int, Mark], Coroutine[Any, Any, None]]


def message() -> dict[str, str]:
    """What a turn adds."""
    return {"role": "user", "content": kilobyte()[:500]}


class Turns:
    """What has been written and how late it is whenever a turn begins."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.bytes: list[float] = []

    def mark(self) -> None:
        """A turn begins: what the one before has made is saved."""
        self.times.append(perf_counter())
        self.bytes.append(written())

    def growth(self) -> float:
        """How many times as long as the first turns the last ones take."""
        each = [after - before for before, after in pairwise(self.times)]
        return median(each[-_EDGE:]) / median(each[:_EDGE])

    def bytes_each(self) -> float:
        """Bytes written per turn."""
        return (self.bytes[-1] - self.bytes[0]) / (len(self.bytes) - 1)


def _talked(talk: Talk, number: int) -> tuple[Turns, int]:
    """The turns of a conversation, and the bytes on disk when the database is closed."""
    turns = Turns()
    with database() as path:
        anyio.run(talk, path, max(number, 2 * _EDGE), turns.mark)
        return turns, sum(file.stat().st_size for file in path.parent.iterdir())


def on_disk(talk: Talk, number: int) -> float:
    """Bytes on disk after a conversation."""
    return _talked(talk, number)[1]


def bytes_of_turns(talk: Talk, number: int) -> float:
    """Bytes written per turn of a conversation."""
    return _talked(talk, number)[0].bytes_each()


def growth(talk: Talk, number: int) -> float:
    """How many times as long as the first turns the last ones of a conversation take."""
    return _talked(talk, number)[0].growth()


def histories(talk: Talk) -> Mapping[str, Measure]:
    """What is measured of a conversation."""
    return {
        "history on disk": partial(on_disk, talk),
        "history bytes": partial(bytes_of_turns, talk),
        "history growth": partial(growth, talk),
    }
