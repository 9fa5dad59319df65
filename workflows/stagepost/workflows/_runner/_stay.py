"""Where a run may be, and what may become of it then: one table of transitions.

A record begins where a run comes to this process, and its state changes only by `Presence.move`:

==========  ==========================================================================================================
storing     It is being stored. Somebody else may find its id meanwhile, and waits until this is over.
queued      It waits for a slot. It is nobody's in the store, or ours.
claiming    It has a slot, or needs none; it is being read, checked and claimed.
running     A task of the executor takes it to its end. Only here anything of it is executed.
parked      It rests in the store, and somebody here waits for it. Without anybody there is no record of it.
ended       Its end is committed.
lost        It stays open without this process: it cannot go on, is another owner's, or store or runner are left.
==========  ==========================================================================================================

The rules of the table:

- A run is executed only after it was stored or claimed in this very stay: to ``running`` leads no other way, and no
  record begins there, or at an end.
- Nothing leads out of ``ended`` and ``lost``. A run that is resumed, or tried again, gets a new record; whoever holds a
  handle of the old one keeps what it was told.
- ``running`` is left only by the task that executes the run, except that its end may be committed over its head, by a
  cancellation that it does not heed.
- What is ``queued`` or ``parked`` may end or be lost without being claimed; only what is ``queued`` is claimed for a
  slot. A parked run that goes on is queued first.
- A run that somebody resumes is claimed at once, since it is open from then on; without a slot it is queued then, and
  claimed again in its turn.
- ``storing`` may turn out to be a run that was there already: its record is lost, and the other one is looked for.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Stay(StrEnum):
    """Where a run is, as far as this process has to do with it."""

    STORING = "storing"
    QUEUED = "queued"
    CLAIMING = "claiming"
    RUNNING = "running"
    PARKED = "parked"
    ENDED = "ended"
    LOST = "lost"


TRANSITIONS: Final[Mapping[Stay, frozenset[Stay]]] = {
    Stay.STORING: frozenset({Stay.RUNNING, Stay.QUEUED, Stay.LOST}),
    Stay.QUEUED: frozenset({Stay.CLAIMING, Stay.ENDED, Stay.LOST}),
    Stay.CLAIMING: frozenset({Stay.RUNNING, Stay.QUEUED, Stay.PARKED, Stay.ENDED, Stay.LOST}),
    Stay.RUNNING: frozenset({Stay.PARKED, Stay.ENDED, Stay.LOST}),
    Stay.PARKED: frozenset({Stay.QUEUED, Stay.ENDED, Stay.LOST}),
    Stay.ENDED: frozenset(),
    Stay.LOST: frozenset(),
}
BEGINNINGS: Final = frozenset({Stay.STORING, Stay.QUEUED, Stay.CLAIMING, Stay.PARKED})


class IllegalTransition(RuntimeError):
    """The runner has a defect."""

    def __init__(self, run_id: str, before: Stay | None, after: Stay) -> None:
        begins = "begins" if before is None else f"is {before.value} and becomes"
        super().__init__(f"run {run_id!r} {begins} {after.value}: no rule of the runner allows that")
