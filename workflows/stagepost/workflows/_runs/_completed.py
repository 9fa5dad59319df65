"""By which number of its history a step of a run has completed."""

from collections.abc import Iterable

from stagepost.checkpoint import AttemptOutcome, Happened, HappeningKind

_ATTEMPTS = (HappeningKind.STEP, HappeningKind.FAN_OUT, HappeningKind.ITEM)


class Completions:
    """Reads what has happened to a run in its order, and notes when a step, route, item or fan-out has completed.

    Args:
        path: Its path from the run's root, or with a visit its place.

    Attributes:
        number: By which number it has completed last; None if it has not.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._last: Happened | None = None
        self.number: int | None = None

    def read(self, happened: Iterable[Happened]) -> None:
        """Read more of it."""
        for each in happened:
            if _is_completion(each) and (self._is_meant(each) or self._ends_with_it(each)):
                self.number, self._last = each.number, each
            else:
                self._last = None

    def _is_meant(self, each: Happened) -> bool:
        return self._path in (each.place, each.place.partition("#")[0])

    def _ends_with_it(self, each: Happened) -> bool:
        """Whether an item has ended by the step that was read before, and was saved together with it."""
        last = self._last
        if last is None or each.kind is not HappeningKind.ITEM or last.saved_at != each.saved_at:
            return False
        return last.place.startswith(f"{each.place.partition('#')[0]}/")


def _is_completion(each: Happened) -> bool:
    return each.kind in _ATTEMPTS and each.outcome == AttemptOutcome.OK
