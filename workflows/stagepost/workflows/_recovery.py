"""Taking up runs that a process before this one has left open."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stagepost.checkpoint import Frame, Snapshot

from ._program import FanOutPlace, Program
from ._run import Run
from .errors import IncompatibleCheckpoint, WorkflowError

_ITEM = re.compile(r"\[\d+\](?:/|$)")  # ends the path of an item, where the path inside its worker begins


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What `Runner.recover` found.

    Attributes:
        resumed: Runs that go on now.
        left_open: Runs that do not, by id, with the reason.
    """

    resumed: Sequence[Run] = ()
    left_open: Mapping[str, WorkflowError] = field(default_factory=dict)


def check_compatible(snapshot: Snapshot, program: Program) -> None:
    """See that every place that a run stands at still exists.

    Raises:
        IncompatibleCheckpoint: One is gone.
    """
    for frame in snapshot.frames.values():
        if not _has_place(_worker_at(program, frame.path), frame):
            place = f"{frame.path}/{frame.next}" if frame.path else str(frame.next)
            raise IncompatibleCheckpoint(snapshot.run.run_id, snapshot.run.workflow, place)


def _has_place(program: Program | None, frame: Frame) -> bool:
    """Whether a frame can go on: its place is there, and is a fan-out if its items were frozen."""
    if program is None or frame.next is None:
        return program is not None
    place = program.places.get(frame.next)
    return place is not None and (frame.width is None or isinstance(place, FanOutPlace))


def _worker_at(program: Program, path: str) -> Program | None:
    """The program of the frame at a path: the root's own, or that of the worker the path leads to."""
    for part in filter(None, _ITEM.split(path)):
        place = program.places.get(part)
        if not isinstance(place, FanOutPlace) or not isinstance(place.worker, Program):
            return None
        program = place.worker
    return program
