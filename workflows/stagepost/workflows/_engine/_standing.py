"""A run as its root branch has it in memory, in the forms in which a store shows it."""

from collections.abc import Mapping, Sequence
from typing import Any

from stagepost.checkpoint import Effect, Frame, Item, Ref, StoredWait

from .._plans._plan import FanOutPlace, FoldPlace
from .._values._append import Elements
from .._values._state import Values
from ._branch import Branch


class StandingRun:
    """A run that is executed here.

    Args:
        branch: Its root.
    """

    def __init__(self, branch: Branch) -> None:
        self._branch = branch
        self._run = branch.execution

    @property
    def epoch(self) -> int:
        """How often it was claimed."""
        return self._run.journal.epoch

    @property
    def seq(self) -> int:
        """Number of the last version of its root frame."""
        return self._branch.seq

    def frame(self) -> Frame:
        """Its root frame, without the elements of lists."""
        return frame_of(self._branch, self._branch.refs)

    def items(self) -> Sequence[Item]:
        """The items of the fan-out or fold where it stands."""
        branch, place = self._branch, self._branch.place
        if not isinstance(place, FanOutPlace | FoldPlace):
            return ()
        path, visit = branch.full_path(place.path), branch.visit(place.within)
        if branch.frozen is not None and branch.frozen[:2] == (path, visit):
            records = branch.frozen[2]
        else:  # none yet; or of a fold, or taken up
            records = self._run.items.get(path, [])
        return [item.stored(path, visit) for item in records]

    def waits(self) -> Sequence[StoredWait]:
        """What it waits for, or has waited for."""
        return self._run.ledger.all_waits()

    def effects(self) -> Sequence[Effect]:
        """What its steps have noted."""
        return self._run.ledger.all_effects()

    def elements(self, key: str, after: int, limit: int) -> Sequence[Any] | None:
        """Elements of a list that only grows: as values of their type where these are known, else as JSON."""
        value = self._branch.own.get(key)
        return value.page(after, after + limit) if isinstance(value, Elements) else None


def frame_of(branch: Branch, refs: Mapping[str, Ref]) -> Frame:
    """The frame of a branch, without the elements of lists.

    Args:
        branch: The branch.
        refs: Which of its values have rows of their own.
    """
    position = branch.position
    visits = {} if position.next is None else position.visits
    state = _state(branch.own, refs)
    return Frame(branch.path, branch.seq, position.next, state, visits, branch.width, refs)


def _state(own: Values, refs: Mapping[str, Ref]) -> Mapping[str, bytes]:
    return {key: value.data for key, value in own.items() if key not in refs or refs[key].length is None}
