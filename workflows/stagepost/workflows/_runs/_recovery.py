"""Taking up runs that a process before this one has left open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from pydantic_core import from_json

from stagepost.checkpoint import CorruptRun, Frame, Item, ItemStatus, Snapshot, WaitStatus

from .._programs._places import program_at
from .._programs._program import COUNTER, FanOutPlace, FoldPlace, Program
from .._programs._shape import places_in, shape_of
from ..errors import IncompatibleCheckpoint, WorkflowError
from ._ids import wait_id_of
from ._run import Run


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What `Runner.recover` found.

    Attributes:
        resumed: Runs that go on now.
        left_open: Runs that do not, by id, with the reason.
        cancelled: Ids of runs whose end had been asked for and is committed now.
        dead: Runs that were recovered too often without getting anywhere, by id, with the reason.
    """

    resumed: Sequence[Run] = ()
    left_open: Mapping[str, WorkflowError | CorruptRun] = field(default_factory=dict)
    cancelled: Sequence[str] = ()
    dead: Mapping[str, WorkflowError] = field(default_factory=dict)


@dataclass(slots=True)
class RecoveryNotes:
    """What becomes a `RecoveryReport`; see there."""

    resumed: list[Run] = field(default_factory=list)
    left_open: dict[str, WorkflowError | CorruptRun] = field(default_factory=dict)
    cancelled: list[str] = field(default_factory=list)
    dead: dict[str, WorkflowError] = field(default_factory=dict)

    def report(self) -> RecoveryReport:
        """It, when all has been found."""
        return RecoveryReport(tuple(self.resumed), self.left_open, tuple(self.cancelled), self.dead)


def check_compatible(snapshot: Snapshot, program: Program) -> None:
    """See that every place that a run stands at still exists.

    Raises:
        IncompatibleCheckpoint: One is gone.
    """
    gone = [_place_of(frame) for frame in snapshot.frames.values() if not _has_place(program, frame)]
    gone += [f"{item.path}[{item.idx}]" for item in snapshot.items if not _has_worker(program, item)]
    if gone:
        why = f"it stands at {gone[0]!r}, which the workflow no longer has{_changes(snapshot, program)}"
        raise IncompatibleCheckpoint(snapshot.run.run_id, snapshot.run.workflow, why, place=gone[0])


def _changes(snapshot: Snapshot, program: Program) -> str:
    """What has changed in the workflow since the run was last claimed, in words."""
    if snapshot.shape is None:
        return ""
    before, now = places_in(snapshot.shape), places_in(shape_of(program).skeleton)
    parts = [
        ("gone", [f"{path} ({kind})" for path, kind in before.items() if path not in now]),
        ("new", [f"{path} ({kind})" for path, kind in now.items() if path not in before]),
        (
            "another kind",
            [f"{path} ({before[path]}, now {kind})" for path, kind in now.items() if before.get(path, kind) != kind],
        ),
    ]
    found = "; ".join(f"{what}: {', '.join(sorted(paths))}" for what, paths in parts if paths)
    return f" ({found})" if found else ""


def open_waits(snapshot: Snapshot) -> Sequence[str]:
    """Ids of the waits that a run is parked at."""
    waits = sorted((wait for wait in snapshot.waits if wait.status is WaitStatus.OPEN), key=attrgetter("place"))
    return tuple(wait_id_of(snapshot.run.run_id, wait) for wait in waits)


def _place_of(frame: Frame) -> str:
    return f"{frame.path}/{frame.next}" if frame.path else str(frame.next)


def _has_place(program: Program, frame: Frame) -> bool:
    """Whether a frame can go on: its place is there, and takes items if some were frozen, in order if some are done."""
    inner = program_at(program, frame.path)
    if inner is None or frame.next is None:
        return inner is not None
    place = inner.places.get(frame.next)
    if f"{frame.next}{COUNTER}" in frame.visits:
        return isinstance(place, FoldPlace)
    return place is not None and (frame.width is None or isinstance(place, FanOutPlace | FoldPlace))


def _has_worker(program: Program, item: Item) -> bool:
    """Whether an item still has the worker that it was frozen for: branches may come and go and change their order."""
    outer, _, path = item.path.rpartition("]/")
    inner = program_at(program, f"{outer}]" if outer else "")
    place = None if inner is None else inner.places.get(path)
    if isinstance(place, FoldPlace):
        return item.status is ItemStatus.WAITING  # of a fan-out it may have been done already
    if not isinstance(place, FanOutPlace):
        return False
    return not place.branches or place.branches[item.idx : item.idx + 1] == (from_json(item.input),)
