"""How the places of a run stand, from what is stored of it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from pydantic_core import from_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import AttemptOutcome, Frame, HappeningKind, ItemStatus, RunStatus, Snapshot, WaitStatus
from stagepost.workflows import AttemptEntry, DecisionEntry, HistoryEntry

from ._marks import Mark, Standing, strongest
from ._passed import surely_passed

_ITEM = re.compile(r"([^\[\]]+)\[(\d+)\]/?")
_COUNTER = "[]"  # after the path of a fold, in a frame's visits: how many of its items are done
_RUNS: Final = {
    RunStatus.RUNNING: Mark.RUNNING,
    RunStatus.WAITING: Mark.WAITING,
    RunStatus.FAILED: Mark.FAILED,
    RunStatus.DEAD: Mark.FAILED,
    RunStatus.CANCELLED: Mark.CANCELLED,
}
_OUTCOMES: Final = {
    AttemptOutcome.OK: Mark.DONE,
    AttemptOutcome.FAILED: Mark.FAILED,
    AttemptOutcome.WAITING: Mark.WAITING,
    AttemptOutcome.CANCELLED: Mark.CANCELLED,
    AttemptOutcome.INTERRUPTED: Mark.CANCELLED,
    None: Mark.RUNNING,
}
_ITEMS: Final = {
    ItemStatus.OK: Mark.DONE,
    ItemStatus.FAILED: Mark.FAILED,
    ItemStatus.CANCELLED: Mark.CANCELLED,
    ItemStatus.WAITING: Mark.AHEAD,
}


@dataclass(frozen=True, slots=True)
class Standings:
    """How the places of a run stand.

    Attributes:
        places: By path, with the numbers of items: ``orders[3]/check``.
        items: Marks of the items of fan-outs and folds, by path of the fan-out and number of the item.
        led: Where the run has gone on after a node of a graph or a conditional, as far as somebody has asked: by its
            path, the paths of places; empty for out of the graph.
    """

    places: Mapping[str, Standing] = field(default_factory=dict)
    items: Mapping[str, Mapping[int, Mark]] = field(default_factory=dict)
    led: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def at(self, path: str) -> Standing:
        """How a place stands."""
        return self.places.get(path, _AHEAD)


_AHEAD: Final = Standing()


def standings_of(
    snapshot: Snapshot, history: Iterable[HistoryEntry] = (), under_way: Iterable[AttemptEntry] = ()
) -> Standings:
    """How the places of a run stand.

    Without its history, what every way to where it stands leads through counts as done: a frame says where a run
    stands and not how it got there.

    Args:
        snapshot: What is stored of the run.
        history: What has happened to it, if it keeps that: `RunHistory.items` of all pages.
        under_way: `RunHistory.under_way` of the last page.
    """
    reading = _Reading(snapshot)
    reading.passed()
    reading.told([*history, *under_way])
    reading.stands()
    reading.waits()
    return reading.standings()


class _Reading:
    """Collects marks; what comes later is more certain."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._skeleton: Mapping[str, Any] = from_json(snapshot.shape) if snapshot.shape is not None else {}
        self._places: dict[str, Standing] = {}
        self._items: dict[str, dict[int, Mark]] = {}
        self._led: dict[str, set[str]] = {}

    def passed(self) -> None:
        """What was surely passed, and what was counted."""
        for frame, plan, below in self._frames():
            for path in surely_passed(plan, frame.next) if plan else ():
                self._mark(below + path, Mark.DONE)
            for path, visits in frame.visits.items():
                if path in plan and path != frame.next:
                    self._mark(below + path, Mark.DONE, visits=visits)
        for item in self._snapshot.items:
            self._items.setdefault(item.path, {})[item.idx] = _ITEMS[item.status]

    def told(self, entries: Sequence[HistoryEntry]) -> None:
        """What the history says."""
        visits: Counter[str] = Counter()
        for entry in entries:
            if not isinstance(entry, AttemptEntry):
                continue
            visits[entry.path] += entry.outcome is AttemptOutcome.OK
            mark = _OUTCOMES[entry.outcome]
            tries = len(entry.retries) + 1
            if mark is Mark.DONE and tries > 1:
                mark = Mark.RETRIED
            self._places[entry.path] = Standing(
                mark, tries, visits[entry.path] if visits[entry.path] > 1 else 0, entry.error, len(entry.children)
            )
            if entry.kind is HappeningKind.ITEM:
                self._note_item(entry.path, mark)
            self._decided(entry.decisions)

    def _decided(self, decisions: Iterable[DecisionEntry]) -> None:
        for each in decisions:
            to = each.to or "" if each.route is None else f"{each.path}/{each.route}"
            if not each.failed:
                self._led.setdefault(each.path.removesuffix("->"), set()).add(to)

    def stands(self) -> None:
        """Where its branches stand."""
        run = self._snapshot.run
        for frame, plan, below in self._frames():
            mark = self._of_item(frame) if frame.path else _RUNS.get(run.status)
            if frame.next is None or mark is None:
                continue
            error = run.error if mark is Mark.FAILED and not frame.path else None
            # if no way leads on, it stands at the arrow after a node, which is shown at the node
            self._mark(below + frame.next.removesuffix("->").removesuffix("/"), mark, error=error)
            if frame.path and mark is not Mark.FAILED:
                self._note_item(frame.path, mark)
            if plan.get(frame.next, {}).get("kind") == "fold":
                self._fold(below + frame.next, frame.visits.get(f"{frame.next}{_COUNTER}", 0), mark)

    def waits(self) -> None:
        """What waits for somebody."""
        if not self._snapshot.run.status.is_open:
            return
        for wait in self._snapshot.waits:
            if wait.status is WaitStatus.OPEN:
                path = wait.place.partition("#")[0]
                self._mark(path, Mark.WAITING)
                for match in _ITEM.finditer(path):
                    self._note_item(path[: match.end(2) + 1], Mark.WAITING)

    def standings(self) -> Standings:
        """All of it."""
        return Standings(self._places, self._items, {path: frozenset(to) for path, to in self._led.items()})

    def _fold(self, path: str, done: int, mark: Mark) -> None:
        marks = self._items.setdefault(path, {})
        for number in marks:
            marks[number] = Mark.DONE if number < done else mark if number == done else Mark.AHEAD

    def _note_item(self, path: str, mark: Mark) -> None:
        fan_out, _, number = path.removesuffix("]").rpartition("[")
        marks = self._items.setdefault(fan_out, {})
        marks[int(number)] = mark if mark is Mark.DONE else strongest((mark, marks.get(int(number), mark)))

    def _of_item(self, frame: Frame) -> Mark:
        fan_out, _, number = frame.path.removesuffix("]").rpartition("[")
        known = self._items.get(fan_out, {}).get(int(number), Mark.AHEAD)
        if known in (Mark.FAILED, Mark.CANCELLED):
            return known
        return Mark.RUNNING if self._snapshot.run.status.is_open else Mark.CANCELLED

    def _mark(self, path: str, mark: Mark, *, visits: int = 0, error: str | None = None) -> None:
        known = self._places.get(path, _AHEAD)
        self._places[path] = known._replace(
            mark=mark, visits=visits or known.visits, error=error or (known.error if mark is Mark.FAILED else None)
        )

    def _frames(self) -> Iterator[tuple[Frame, Mapping[str, Any], str]]:
        """Frames with their plans, and how the paths of their places begin."""
        for frame in self._snapshot.frames.values():
            yield frame, self._plan_at(frame.path), f"{frame.path}/" if frame.path else ""

    def _plan_at(self, path: str) -> Mapping[str, Any]:
        plan = self._skeleton
        for name, number in _ITEM.findall(path):
            workers = plan.get(name, {}).get("workers") or [None]
            plan = workers[min(int(number), len(workers) - 1)] or {}
        return plan
