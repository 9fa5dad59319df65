"""Limits: how many runs of a kind are worked on at once, and how many are taken up per minute."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from pydantic import ConfigDict

from stagepost._dataclasses import dataclass

from .._arguments import from_one
from .._ids import is_child


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimit:
    """How many runs of a kind a runner works on: ``Runner(store, limits=[RunLimit(workflow="charge", at_once=5)])``.

    Runs above a limit wait in line: they are open, nobody works on them, and they are taken up in the order in which
    they came. They hold up no run that the limit does not concern.

    A limit that names a workflow counts all its runs, also those that steps start. One by a label alone counts runs
    that no step has started; what their steps start is theirs. A run that several limits concern waits until all admit
    it.

    Attributes:
        workflow: Only runs of this workflow.
        label: Only runs that have this label, and those of each value for themselves.
        value: Only runs whose label has this value.
        at_once: How many are worked on at once. Parked runs do not count: whoever waits for an answer, the time or
            another run gives its place away, and waits in line again when it goes on.
        per_minute: How many are taken up within any 60 seconds of the runner's clock, whether they are new, go on after
            they were parked, or were recovered. The store counts them, so a restart allows no more.

    Raises:
        ValueError: It concerns all runs, or limits nothing.
    """

    workflow: str | None = None
    label: str | None = None
    value: str | None = None
    at_once: int | None = None
    per_minute: int | None = None
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        if self.workflow is None and self.label is None:
            raise ValueError("RunLimit: give workflow=, label= or both; max_running= of the runner limits all runs")
        if self.value is not None and self.label is None:
            raise ValueError(f"RunLimit: value={self.value!r} is a label's: give label=, too")
        for name, most in (("at_once", self.at_once), ("per_minute", self.per_minute)):
            from_one("RunLimit", name, most)
        if self.at_once is None and self.per_minute is None:
            raise ValueError("RunLimit: give at_once=, per_minute= or both")

    def __str__(self) -> str:
        kind = f"runs of {self.workflow!r}" if self.workflow is not None else "runs"
        if self.label is not None:
            kind += f" with the label {self.label!r}" if self.value is None else f" with {self.label}={self.value!r}"
        most = {"at once": self.at_once, "per minute": self.per_minute}
        return f"{kind}: {', '.join(f'{number} {how}' for how, number in most.items() if number is not None)}"

    def line_of(self, workflow: str, labels: Mapping[str, str], run_id: str) -> str | None:
        """Name of the line that a run waits in; None if this does not concern it."""
        if self.workflow not in (None, workflow) or (self.workflow is None and is_child(run_id)):
            return None
        if self.label is None:
            return json.dumps([self.workflow])
        value = labels.get(self.label)
        if value is None or self.value not in (None, value):
            return None
        return json.dumps([self.workflow, self.label, self.value, value])

    @property
    def kind(self) -> tuple[str | None, str | None, str | None]:
        """Which runs it concerns."""
        return self.workflow, self.label, self.value


def kind_of(line: str) -> tuple[str | None, str | None, str | None]:
    """Which runs the limit of a line concerns."""
    parts: Sequence[str | None] = json.loads(line)
    return (parts[0], parts[1], parts[2]) if len(parts) > 1 else (parts[0], None, None)


def checked_limits(limits: Iterable[RunLimit]) -> tuple[RunLimit, ...]:
    """Limits, each of another kind of runs.

    Raises:
        ValueError: Two are of the same kind.
    """
    found: dict[tuple[str | None, ...], RunLimit] = {}
    given: object = limits
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise ValueError(f"limits={limits!r:.80}: give a list of RunLimit")  # noqa: TRY004  # as for other values of it
    for limit in given:
        if not isinstance(limit, RunLimit):
            raise ValueError(f"limits= has {limit!r:.80}, which is no RunLimit")  # noqa: TRY004  # likewise
        if limit.kind in found:
            raise ValueError(f"limits= has two for the same runs ({found[limit.kind]}; {limit}): make one of them")
        found[limit.kind] = limit
    return tuple(found.values())
