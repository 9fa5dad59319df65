"""Whether a stored run fits a plan: each place where it stands, each wait, and each value that a step would read.

Whatever reading a stored run raises is the reason why that run cannot go on; it concerns no other run and no runner.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pydantic_core import from_json

from stagepost.checkpoint import (
    PLAIN,
    CannotRead,
    CheckpointError,
    Codec,
    CorruptRun,
    Frame,
    Item,
    ItemStatus,
    RunInfo,
    Snapshot,
    StoredWait,
    WaitKind,
    WaitStatus,
    split_values,
)

from .._containment import own_failure
from .._pattern_errors import describe
from .._plans._places import plan_at, step_at
from .._plans._plan import COUNTER, FanOutPlace, FoldPlace, Place, Plan
from .._plans._shape import branches_in, places_in, shape_of
from .._values._schema import to_values
from .._values._state import Value, Values, merged
from ..errors import IncompatibleCheckpoint, RunLeftOpen, WorkflowError
from ._standing import Standing, outer_of, position_of

_SENT = (WaitKind.ANSWER, WaitKind.SIGNAL)


@contextmanager
def concerning(run: RunInfo, what: str) -> Iterator[None]:
    """Whatever is raised inside is the reason why a stored run cannot go on.

    Inside are functions of the user's that read stored values (migrations, validators of models), and they may raise
    anything; nothing is awaited there, so that even a cancellation is something that they have made up.

    Args:
        run: The run.
        what: What goes wrong, in words.

    Raises:
        IncompatibleCheckpoint: Something was raised.
        CorruptRun: It says itself which run is concerned.
        KeyboardInterrupt: Somebody ends the process; it may come in the midst of anything.
    """
    try:
        yield
    except (IncompatibleCheckpoint, CorruptRun, KeyboardInterrupt):
        raise
    except BaseException as error:
        why = str(error) if isinstance(error, CannotRead) else describe(error)
        raise IncompatibleCheckpoint(run.run_id, run.workflow, f"{what}: {why}") from error


def own(run_id: str, error: BaseException) -> WorkflowError | CheckpointError:
    """Why a run that somebody was to work on stays open: the error as it is, if it is one of ours."""
    if isinstance(error, WorkflowError | CheckpointError):
        return error
    left = RunLeftOpen(run_id, describe(error))
    left.__cause__ = error
    return left


def left_open(run_id: str, error: Exception) -> WorkflowError | CorruptRun:
    """Why a run stays open which whoever recovers or checks the store has looked at."""
    found = own(run_id, error)
    return found if isinstance(found, WorkflowError | CorruptRun) else RunLeftOpen(run_id, str(found))


def check_compatible(snapshot: Snapshot, plan: Plan) -> None:
    """See that a run can go on in a plan.

    Raises:
        IncompatibleCheckpoint: A place where it stands is gone, or a step there waits for something else.
        CorruptRun: It does not fit itself.
        CannotRead: A stored value does not fit its type.
        Exception: Whatever a function of the user's raises that reads a stored value.
    """
    for item in snapshot.items:
        if (why := _other_branch(snapshot, plan, item)) is not None:
            raise _misfit(snapshot, plan, why, f"{item.path}[{item.idx}]")
    gone = [position_of(frame) for frame in snapshot.frames.values() if not _has_place(plan, frame)]
    gone += [f"{item.path}[{item.idx}]" for item in snapshot.items if not _has_worker(plan, item)]
    _check_counts(snapshot)
    if gone:
        raise _misfit(snapshot, plan, f"it stands at {gone[0]!r}, which the workflow no longer has", gone[0])
    for wait in (*open_in(snapshot), *unheeded_in(snapshot)):
        if not fits(plan, wait):
            why = f"it waits at {wait.place!r} for {wait.kind.value} {wait.name!r}, and no step there does any more"
            raise _misfit(snapshot, plan, why, wait.place)
    _Values(snapshot, plan).read()


def _check_counts(snapshot: Snapshot) -> None:
    """See that each fan-out or fold that a run stands at has all of its items.

    Raises:
        CorruptRun: Some are missing, or there are too many.
    """
    found = Counter(item.path for item in snapshot.items)
    for frame in snapshot.frames.values():
        path, done = position_of(frame), frame.visits.get(f"{frame.next}{COUNTER}")
        if frame.width not in (None, found[path]) or (done is not None and not 0 <= done < found[path]):
            raise CorruptRun(snapshot.run.run_id, f"the items of {path!r} are not those that were stored")


def open_in(snapshot: Snapshot) -> Sequence[StoredWait]:
    """What a run waits for."""
    return [wait for wait in snapshot.waits if wait.status is WaitStatus.OPEN]


def unheeded_in(snapshot: Snapshot) -> Sequence[StoredWait]:
    """What a run was sent for steps that have not ended since."""
    sent = [wait for wait in snapshot.waits if wait.kind in _SENT and wait.status is WaitStatus.ANSWERED]
    if not sent:
        return ()
    standing = Standing(snapshot)
    return [wait for wait in sent if wait.place in standing]


def misfit(plan: Plan, wait: StoredWait) -> str | None:
    """Why the step at the place of a wait cannot read what has ended it, in words; None if it can."""
    step = step_at(plan, wait.place)
    if wait.value is None or step is None or step.receives is None:
        return None
    try:
        step.receives.codec_of(wait.name, wait.prompt).load(wait.value)
    except BaseException as error:  # noqa: BLE001  # a validator is a user's; what is no failure is raised again
        return describe(own_failure(error))
    return None


def unfit_in(snapshot: Snapshot, plan: Plan) -> Mapping[str, str]:
    """What a run was sent by somebody who could not check it, and what does not fit, by place, with the reason."""
    found = {wait.place: misfit(plan, wait) for wait in unheeded_in(snapshot) if not wait.checked}
    return {place: why for place, why in found.items() if why is not None}


def fits(plan: Plan, wait: StoredWait) -> bool:
    """Whether the step at the place of a wait can go on with it."""
    step = step_at(plan, wait.place)
    return step is not None and step.fits(wait)


def _misfit(snapshot: Snapshot, plan: Plan, why: str, place: str) -> IncompatibleCheckpoint:
    run = snapshot.run
    return IncompatibleCheckpoint(run.run_id, run.workflow, f"{why}{_changes(snapshot, plan)}", place=place)


def _changes(snapshot: Snapshot, plan: Plan) -> str:
    """What has changed in the workflow since the run was last claimed, in words."""
    if snapshot.shape is None:
        return ""
    before, now = places_in(snapshot.shape), places_in(shape_of(plan).skeleton)
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


def _has_place(plan: Plan, frame: Frame) -> bool:
    """Whether a frame can go on: its place is there, and takes items if some were frozen, in order if some are done."""
    inner = plan_at(plan, frame.path)
    if inner is None or frame.next is None:
        return inner is not None
    place = inner.places.get(frame.next)
    if f"{frame.next}{COUNTER}" in frame.visits:
        return isinstance(place, FoldPlace)
    return place is not None and (frame.width is None or isinstance(place, FanOutPlace | FoldPlace))


def _has_worker(plan: Plan, item: Item) -> bool:
    """Whether there is still a worker for an item."""
    place = _place_of(plan, item)
    if isinstance(place, FoldPlace):
        return item.status is ItemStatus.WAITING  # of a fan-out it may have been done already
    return isinstance(place, FanOutPlace)


def _other_branch(snapshot: Snapshot, plan: Plan, item: Item) -> str | None:
    """How another branch, or none, has come to stand where an item was frozen for one; None if that is not so."""
    place = _place_of(plan, item)
    if not isinstance(place, FanOutPlace):
        return None
    if not place.branches:
        had = snapshot.shape is not None and branches_in(snapshot.shape, item.path)
        return f"it stands at a branch of {item.path!r}, which has one worker for items now" if had else None
    name = from_json(item.input)
    if place.branches[item.idx : item.idx + 1] == (name,):
        return None
    now = ", ".join(place.branches)
    return f"it stands at branch {name!r} of {item.path!r}, number {item.idx}, and the branches there are now: {now}"


def _place_of(plan: Plan, item: Item) -> Place | None:
    """The fan-out or fold that an item belongs to."""
    outer = outer_of(item.path)
    inner = plan_at(plan, outer)
    return None if inner is None else inner.places.get(item.path[len(outer) :].removeprefix("/"))


class _Values:
    """The stored values of a run, read as its steps would read them.

    Args:
        snapshot: The run.
        plan: What would go on with it.
    """

    def __init__(self, snapshot: Snapshot, plan: Plan) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._seen: dict[str, Values] = {}  # what the steps of each frame see
        self._items = {f"{item.path}[{item.idx}]": item for item in snapshot.items}

    def read(self) -> None:
        """Read all of them.

        Raises:
            CannotRead: One does not fit its type.
        """
        for path, frame in sorted(self._snapshot.frames.items(), key=lambda entry: len(entry[0])):
            inner = plan_at(self._plan, path)
            if inner is not None:
                own = to_values(frame.state, inner.schema.lists)
                self._seen[path] = merged(self._inherited(path), own)
                inner.schema.read(self._seen[path])
        for path, item in self._items.items():
            for codec, data in self._of(path, item):
                if codec is not PLAIN:
                    codec.load(data)
        self._answers()

    def _inherited(self, path: str) -> Values:
        """What the steps of a frame see beside what they have written themselves."""
        item = self._items.get(path)
        if item is None:
            return {}
        seen = self._seen.get(outer_of(item.path), {})
        place = _place_of(self._plan, item)
        key = place.pattern.item_key if isinstance(place, FanOutPlace) else None
        return seen if key is None else {**seen, key: Value(item.input)}

    def _of(self, path: str, item: Item) -> Iterator[tuple[Codec[object], bytes]]:
        """What was given to the worker of an item, and what it has made, each with its codec."""
        place = _place_of(self._plan, item)
        if isinstance(place, FoldPlace):
            yield place.source.item_codec, item.input
        elif isinstance(place, FanOutPlace):
            worker = place.worker(item.idx)
            yield (PLAIN if place.branches else place.pattern.item_codec), item.input
            if item.value is None:
                return
            if isinstance(worker, Plan):
                made = to_values(split_values(item.value), worker.schema.lists)
                worker.schema.read(merged(self._inherited(path), made))
            elif not place.branches:
                yield place.pattern.value_codec, item.value

    def _answers(self) -> None:
        """Answers and signals that no step has heeded yet."""
        for wait in unheeded_in(self._snapshot):
            step = step_at(self._plan, wait.place)
            if wait.value is not None and step is not None and step.receives is not None:
                step.receives.codec_of(wait.name, wait.prompt).load(wait.value)
