"""A run as a mermaid flowchart: its workflow's, with what is done and where the run stands."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from stagepost.checkpoint import Frame, ItemStatus, RunStatus, Snapshot, WaitStatus

from ._diagram import chart
from ._dominators import END, surely_passed
from ._places import items_in, plan_at
from ._plan import FanOutPlace, FoldPlace, Plan


class Mark(StrEnum):
    """What is said of a place; if there is more to say, the last in this order."""

    DONE = "done"
    CANCELLED = "cancelled"
    CURRENT = "current"
    WAITING = "waiting"
    FAILED = "failed"


_COLOURS: Final[Mapping[Mark, str]] = {
    Mark.DONE: "fill:#d8f0d8,stroke:#2e7d32,color:#000",
    Mark.CANCELLED: "fill:#e0e0e0,stroke:#616161,color:#000",
    Mark.CURRENT: "fill:#d6e9ff,stroke:#1565c0,color:#000",
    Mark.WAITING: "fill:#fff3cd,stroke:#b58900,color:#000",
    Mark.FAILED: "fill:#fadbd8,stroke:#c62828,color:#000",
}
_RUNS: Final[Mapping[RunStatus, Mark]] = {
    RunStatus.RUNNING: Mark.CURRENT,
    RunStatus.WAITING: Mark.CURRENT,
    RunStatus.FAILED: Mark.FAILED,
    RunStatus.DEAD: Mark.FAILED,
    RunStatus.CANCELLED: Mark.CANCELLED,
}
_ITEMS: Final[Mapping[ItemStatus, Mark]] = {
    ItemStatus.FAILED: Mark.FAILED,
    ItemStatus.CANCELLED: Mark.CANCELLED,
}


def run_diagram(plan: Plan, snapshot: Snapshot) -> str:
    """The flowchart of a plan, its places marked by what is stored of a run.

    Done is what every way to where the run stands leads through. A frame says where a run stands and not how it got
    there, so of ways that meet again before that none is marked.

    Args:
        plan: The run's workflow.
        snapshot: The run.
    """
    marking = _Marking(plan, snapshot)
    lines, ids = chart(plan, marking.counts())
    drawn: dict[Mark, list[str]] = {}
    for path, mark in marking.marks().items():
        if path in ids:
            drawn.setdefault(mark, []).append(ids[path])
    for mark, found in sorted(drawn.items()):
        lines += [f"    classDef {mark} {_COLOURS[mark]}", f"    class {','.join(sorted(found))} {mark}"]
    return "\n".join(lines)


class _Marking:
    """What a snapshot says of the places of a plan, by the paths under which they are drawn.

    Args:
        plan: The run's workflow.
        snapshot: The run.
    """

    def __init__(self, plan: Plan, snapshot: Snapshot) -> None:
        self._plan = plan
        self._snapshot = snapshot
        self._items = {f"{item.path}[{item.idx}]": item.status for item in snapshot.items}

    def marks(self) -> Mapping[str, Mark]:
        """Marks of places."""
        marks: dict[str, Mark] = {}
        order = list(Mark)
        for path, mark in (*self._passed(), *self._standing(), *self._waiting()):
            marks[path] = max(mark, marks.get(path, mark), key=order.index)
        return marks

    def counts(self) -> Mapping[str, str]:
        """How many items are done, of fan-outs and folds where the run stands."""
        counts: dict[str, tuple[int, int]] = {}
        for frame, plan, drawn in self._frames():
            place = plan.places.get(frame.next or END)
            if isinstance(place, FanOutPlace | FoldPlace):
                path = f"{frame.path}/{place.path}" if frame.path else place.path
                statuses = [item.status for item in self._snapshot.items if item.path == path]
                done = statuses.count(ItemStatus.OK)
                if isinstance(place, FoldPlace):
                    done = frame.visits.get(place.counter, 0)
                before = counts.get(drawn + place.path, (0, 0))
                counts[drawn + place.path] = (before[0] + done, before[1] + len(statuses))
        return {path: f"{done} of {total}" for path, (done, total) in counts.items() if total}

    def _passed(self) -> Iterator[tuple[str, Mark]]:
        for frame, plan, drawn in self._frames():
            visited = {path for path in frame.visits if path in plan.places}
            for path in (surely_passed(plan, frame.next or END) | visited) - {frame.next}:
                yield drawn + path, Mark.DONE

    def _standing(self) -> Iterator[tuple[str, Mark]]:
        status = self._snapshot.run.status
        for frame, _, drawn in self._frames():
            if frame.next is not None and status in _RUNS:
                yield drawn + frame.next, self._of_item(frame) if frame.path else _RUNS[status]

    def _of_item(self, frame: Frame) -> Mark:
        stopped = Mark.CURRENT if self._snapshot.run.status.is_open else Mark.CANCELLED
        return _ITEMS.get(self._items.get(frame.path, ItemStatus.WAITING), stopped)

    def _waiting(self) -> Iterator[tuple[str, Mark]]:
        if not self._snapshot.run.status.is_open:
            return
        for wait in self._snapshot.waits:
            if wait.status is WaitStatus.OPEN:
                yield self._drawn_step(wait.place.partition("#")[0]), Mark.WAITING

    def _drawn_step(self, path: str) -> str:
        """Under which path a step is drawn; for all items of a fan-out once, for those of a fold as the fold."""
        outer, bracket, name = path.rpartition("]/")
        around = outer + "]" if bracket else ""
        for fan_out, _ in items_in(name):
            plan = plan_at(self._plan, around)
            fold = plan is not None and isinstance(plan.places.get(fan_out), FoldPlace)
            name = fan_out if fold else f"{fan_out}/worker"
        return self._drawn(around) + name

    def _frames(self) -> Iterator[tuple[Frame, Plan, str]]:
        """Frames with their plans and how the paths inside of them begin in the drawing."""
        for frame in self._snapshot.frames.values():
            plan = plan_at(self._plan, frame.path)
            if plan is not None:
                yield frame, plan, self._drawn(frame.path)

    def _drawn(self, path: str) -> str:
        """How the paths of places begin that are inside of an item: workers are drawn once, branches each."""
        drawn, around = "", ""
        for name, idx in items_in(path):
            plan = plan_at(self._plan, around)
            place = None if plan is None else plan.places.get(name)
            drawn += f"{name}[{idx if isinstance(place, FanOutPlace) and place.branches else 0}]/"
            around += f"{name}[{idx}]/"
        return drawn
