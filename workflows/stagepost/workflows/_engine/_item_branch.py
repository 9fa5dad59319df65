"""One item of a fan-out whose worker is a pattern, as a strand of its own."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from stagepost.checkpoint import AttemptOutcome, Frame, Happening, ItemStatus, Ref, join_values

from .._execution._items import ItemRecord
from .._execution._journal import Parts
from .._ids import place_of
from .._plans._plan import Plan, Position
from .._values._layout import Layout
from .._values._state import Value, Values
from ._branch import Branch, first_frame, to_bytes
from ._saying import chronicle_of
from ._written import Written


class ItemBranch(Branch):
    """One item of a fan-out whose worker is a pattern: its frame holds only what its own steps wrote.

    Args:
        parent: The branch that the fan-out belongs to.
        plan: The worker.
        fan_out: Path of the fan-out from the run's root.
        visit: Which visit of it.
        record: The item.
        item_key: Key of the state that its steps find the item under; None if they get none.

    Attributes:
        item_place: The item with its visits.
        following: What begins when the item has ended, for the history.
    """

    def __init__(
        self,
        parent: Branch,
        plan: Plan,
        fan_out: str,
        visit: int,
        record: ItemRecord,
        *,
        item_key: str | None,
    ) -> None:
        self._fan_out = fan_out
        self._visit = visit
        self._record = record
        path = f"{fan_out}[{record.idx}]"
        inherited = parent.values if item_key is None else {**parent.values, item_key: record.input}
        frame = parent.execution.frames.pop(path, None) or first_frame(plan, {}, path, seq=0, inherited=inherited)
        super().__init__(parent.execution, plan, frame, inherited=inherited)
        self.around = (*parent.around, visit)
        self.item_place = place_of(path, self.around)
        self.following: Callable[..., tuple[Happening, ...]] = _nothing

    def put_aside(self) -> None:
        """Leave the frame where a branch that goes on with the item finds it, as if it came from the store."""
        if self.seq:
            self.execution.frames[self.path] = Frame(
                self.path, self.seq, self.position.next, to_bytes(self.own), self.position.visits, self.width, self.refs
            )

    def _stand(self, own: Values, seen: Values, position: Position, refs: Mapping[str, Ref]) -> None:
        super()._stand(own, seen, position, refs)
        if position.next is None:
            self._record.status, self._record.value = ItemStatus.OK, Value(join_values(to_bytes(own)))

    def _said(self, written: Written, position: Position, *, has_frame: bool) -> tuple[Happening, ...]:
        """With its last step the item ends."""
        said = super()._said(written, position, has_frame=has_frame)
        if position.next is not None:
            return said
        end = chronicle_of(self).end(self.item_place, AttemptOutcome.OK, value=join_values(to_bytes(written.own)))
        return (*said, end, *self.following(ok=True))

    def _parts(self, own: Values, layout: Layout, position: Position) -> Parts:
        """The item's last commit carries its outcome, and its frame is no longer needed."""
        if position.next is not None:
            return super()._parts(own, layout, position)
        done = replace(self._record, status=ItemStatus.OK, value=Value(join_values(to_bytes(own))))
        ended = self.path if self.seq else None
        return Parts(outcomes=(done.stored(self._fan_out, self._visit),), ended=ended)


def _nothing(*, ok: bool) -> tuple[Happening, ...]:  # noqa: ARG001  # as whoever is asked
    return ()
