"""What surrounds a program: its inputs, the results of earlier turns, the journal, the clock."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from stagepost._dataclasses import dataclass

from .._errors import InvalidValue
from .._fault import Fault
from .._values._boundary import inward

_NO_CLOCK: Final = "the time has to be an input"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a program can see beside its inputs and memory.

    Attributes:
        results: Values of the last turns, the latest first: ``*1 *2 *3``.
        journal: Values of tasks by id; None for no journal.
        budget: What ``(budget/remaining)`` gives.
        clock: Seconds since 1970; a replayed program has to be given the same ones. None for no clock: reading it is
            an error of the program.
    """

    results: Sequence[Any] = ()
    journal: Mapping[str, Any] | None = None
    budget: Mapping[str, Any] = field(default_factory=dict)
    clock: Callable[[], float] | None = time.time


class World:
    """The surroundings of one run."""

    def __init__(self, data: Mapping[str, Any], around: Surroundings) -> None:
        self._data = data
        self._around = around
        self._seen: dict[str, Any] = {}
        self.journal: dict[str, Any] = dict(around.journal or {})
        self.keeps = around.journal is not None
        self.summaries: dict[str, str] = {}

    def data(self, name: str, tick: Callable[[], None]) -> Any:
        """An input; nil if there is none of this name."""
        if name not in self._seen:
            key = name if name in self._data else name.replace("-", "_")
            self._seen[name] = inward(self._data.get(key), f"data.{key}", tick)
        return self._seen[name]

    def result(self, index: int, tick: Callable[[], None]) -> Any:
        """The value of an earlier turn."""
        results = self._around.results
        return inward(results[index], f"result {index + 1}", tick) if index < len(results) else None

    def budget(self, tick: Callable[[], None]) -> Any:
        """What is left."""
        return inward(self._around.budget, "budget", tick)

    def now(self) -> float:
        """Seconds since 1970."""
        clock = self._around.clock
        if clock is None:
            raise Fault("no_clock", "there is no clock: the same inputs have to give the same result", _NO_CLOCK)
        return clock()

    def keep(self, name: str, value: Any, tick: Callable[[], None]) -> None:
        """Write the value of a task into the journal."""
        if self.keeps:
            try:
                self.journal[name] = inward(value, f"task {name}", tick, _unfit(name))
            except InvalidValue as refused:
                raise Fault("type_error", f"task {name}: its value is nested too deep to be kept") from refused


def _unfit(name: str) -> Callable[[Any], Any]:
    def refuse(_: Any) -> Any:
        raise Fault("type_error", f"task {name}: a function cannot be kept in the journal", "give its result")

    return refuse
