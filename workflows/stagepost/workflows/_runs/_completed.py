"""Which version of a run's history a step has saved with its result."""

from collections.abc import Iterable, Iterator

from stagepost.checkpoint import Frame, Version

from .._plans._places import plan_at
from .._plans._plan import COUNTER, ArrowPlace, Plan
from ._standing import position_of


class Completions:
    """Reads the versions of a run in their order, and notes when a step, route, fold or fan-out has completed.

    Args:
        path: Its path from the run's root.
        plan: What the run is executed by.

    Attributes:
        number: Number of the version that it has saved when it completed last; None if it has not.
    """

    def __init__(self, path: str, plan: Plan) -> None:
        self._path = path
        self._plan = plan
        self._last: dict[str, Frame] = {}
        self.number: int | None = None

    def read(self, versions: Iterable[Version]) -> None:
        """Read more of them."""
        for version in versions:
            frame = version.frame
            before = self._first(frame.path) if frame.seq == 1 else self._last[frame.path]
            if before is not None and self._path in _completed(before, frame):
                self.number = version.number
            self._last[frame.path] = frame

    def _first(self, path: str) -> Frame | None:
        """Where the branch of an item began, of which the first version is that after its first step."""
        plan = plan_at(self._plan, path) if path else None
        return (
            None if plan is None or isinstance(plan.places[plan.start], ArrowPlace) else Frame(path, 0, plan.start, {})
        )


def _completed(before: Frame, after: Frame) -> Iterator[str]:
    """Paths of what has completed between one version of a frame and the next."""
    path, counter = position_of(before), f"{before.next}{COUNTER}"
    if after.next == before.next and after.width is not None:
        return  # its items were frozen
    if counter in before.visits or (before.width is not None and (counter in after.visits or before.width == 1)):
        yield f"{path}[{before.visits.get(counter, 0)}]"  # an item of a fold
    if after.next != before.next or counter not in after.visits:
        yield path
