"""Runs in line for one of the slots that a runner has."""

from collections.abc import Callable
from typing import Self

from stagepost._dataclasses import dataclass

from .._runs._migration import Definition
from .._runs._run import Outcome, Run


@dataclass(frozen=True, slots=True)
class Job:
    """A stored run that is to be worked on.

    Attributes:
        run: Its handle.
        definition: What it is executed by.
        outcome: What its handles wait for.
        recovering: Whether a process before this one has left it.
        reopened: Whether it had ended, and somebody has resumed it.
    """

    run: Run
    definition: Definition
    outcome: Outcome
    recovering: bool = False
    reopened: bool = False

    @classmethod
    def of(
        cls,
        run_id: str,
        definition: Definition,
        outcome: Outcome,
        *,
        recovering: bool = False,
        reopened: bool = False,
    ) -> Self:
        """A job with a handle of its own."""
        return cls(Run(run_id, definition.workflow.name, outcome), definition, outcome, recovering, reopened)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.run.id


class Line:
    """Counts slots, and keeps those in line in their order; of a run in line only its id and definition are in memory.

    Args:
        slots: How many runs may be worked on at once; None for no limit.
    """

    def __init__(self, slots: int | None) -> None:
        self._slots = slots
        self._taken = 0
        self._waiting: dict[str, Job] = {}
        self._moving: dict[str, Job] = {}

    @property
    def has_room(self) -> bool:
        """Whether a slot is free."""
        return self._slots is None or self._taken < self._slots

    @property
    def has_moving(self) -> bool:
        """Whether any run is on its way from the line."""
        return bool(self._moving)

    def is_moving(self, run_id: str) -> bool:
        """Whether the run is on its way from the line to where it is worked on."""
        return run_id in self._moving

    def join(self, job: Job) -> None:
        """Stand in line."""
        self._waiting[job.run_id] = job

    def find(self, run_id: str) -> Job | None:
        """The run, if it is in line, or on its way from there."""
        return self._waiting.get(run_id) or self._moving.get(run_id)

    def drop(self, run_id: str) -> None:
        """It need not be worked on any more."""
        self._waiting.pop(run_id, None)

    def next(self) -> Job | None:
        """The first in line, on its way to a slot that it has now; None if there is nobody, or no slot."""
        if not self._waiting or not self.enter():
            return None
        return self.pass_by(next(iter(self._waiting)))

    def pass_by(self, run_id: str) -> Job | None:
        """Let a run past all others without a slot; None if it is not in line."""
        job = self._waiting.pop(run_id, None)
        if job is not None:
            self._moving[run_id] = job
        return job

    def arrive(self, run_id: str) -> None:
        """It has got where it was going."""
        self._moving.pop(run_id, None)

    def enter(self) -> bool:
        """Take a slot, if one is free."""
        if not self.has_room:
            return False
        self._taken += 1
        return True

    def exit(self) -> None:
        """Give a slot back."""
        self._taken -= 1

    def close(self, why: Callable[[str], Exception]) -> None:
        """Nobody in line is worked on any more, for a reason."""
        for job in self._waiting.values():
            job.outcome.leave(why(job.run_id))
        self._waiting.clear()
