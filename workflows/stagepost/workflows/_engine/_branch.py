"""One sequential strand of a run: where it stands, what it has written, how it is saved."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NoReturn

from stagepost.checkpoint import (
    Attachments,
    CannotStore,
    Closing,
    Frame,
    Happening,
    Joined,
    NewsFirst,
    Ref,
    RunStatus,
    StatementFailed,
    StatementRefused,
    ValueTooLarge,
)
from stagepost.hub import TaskGuard, new_guard

from .._containment import own_failure
from .._execution._blobs import Attached, blobs_of, check_blobs
from .._execution._execution import Execution
from .._execution._items import ItemRecord
from .._execution._journal import Parts
from .._execution._sizes import measure
from .._listening._room import Room
from .._plans._decisions import Decisions
from .._plans._plan import Place, Plan, Position
from .._plans._within import Within
from .._steps._context import StepContext
from .._values._append import NO_BLOBS
from .._values._layout import ALL_INSIDE, LARGE, Layout, lay_out
from .._values._schema import to_values
from .._values._state import Stored, Values, merged, release, weigh
from ..errors import WorkflowError
from ._saving import tell_saved
from ._saying import say_decided, say_frozen, say_moved
from ._written import Written

NO_REFS: Final[Mapping[str, Ref]] = MappingProxyType({})
_LONGEST_TRAIL = 1000  # nodes that an error can show; a graph without a limit would fill the memory


class Branch:
    """The run itself, or (as an `ItemBranch`) one item whose worker is a pattern.

    What is in memory changes only after the store has said that it is saved.

    Args:
        execution: The run.
        plan: What the branch executes.
        frame: Where it stands.
        own: What it has written, where that need not be read from the frame.
        inherited: What its steps see beside what it has written itself.

    Attributes:
        own: What it has written itself.
        values: All that its steps see.
        guard: Of the task that its steps run in, once it is worked on.
        place: Where it stands; None at the end.
        frozen: The items of the fan-out where it stands: its path, which visit of it, and they.
        inner: Branches of these items that are worked on, by their paths, where somebody listens to a run in memory.
    """

    def __init__(
        self,
        execution: Execution,
        plan: Plan,
        frame: Frame,
        *,
        own: Values | None = None,
        inherited: Values | None = None,
    ) -> None:
        self.execution = execution
        self.plan = plan
        self.path = frame.path
        self.own: Values = to_values(frame.state, plan.schema.lists) if own is None else own
        self.refs = frame.refs
        self.seq = frame.seq
        self.width = frame.width
        self.position = Position(frame.next, frame.visits)
        self.around: tuple[int, ...] = ()
        self.guard: TaskGuard
        self.frozen: tuple[str, int, list[ItemRecord]] | None = None
        self.inner: dict[str, Branch] = {}
        self._is_worked_on = False
        self._inherited = inherited or {}
        self.values = merged(self._inherited, self.own)
        self.place = self._place()
        node = None if self.place is None else self.place.within.node
        self.trail = deque([] if node is None else [node], maxlen=_LONGEST_TRAIL)

    def view(self) -> Any:
        """The state, made anew for one step."""
        return self.plan.schema.view(self.values)

    @property
    def standing(self) -> str:
        """Path of the place where it stands, from the run's root; empty at its end."""
        return "" if self.place is None else self.full_path(self.place.path)

    def shown(self) -> Any:
        """The state for an error that is on its way; None if it cannot be made."""
        try:
            return self.view()
        except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
            own_failure(error)
            return None

    def work_in(self, guard: TaskGuard | None) -> None:
        """Run its steps in the running task, unless that was said before.

        Args:
            guard: Of that task, if there is one already.
        """
        if not self._is_worked_on:
            self._is_worked_on = True
            self.guard = guard or new_guard(is_own=self.execution.journal.is_stored)

    def visit(self, within: Within) -> int:
        """Which visit of the enclosing node this is, from 1; 0 outside of graphs."""
        return 0 if within.node is None else self.position.visits.get(within.node, 0)

    def full_path(self, path: str) -> str:
        """A place's path from the run's root."""
        return f"{self.path}/{path}" if self.path else path

    def context(self, path: str, within: Within) -> StepContext:
        """What the step at a path from the run's root may know."""
        return StepContext(self.execution, path, self.visit(within), self.around)

    def failure(self, within: Within, error: BaseException, *, state: Any, own: bool = True) -> WorkflowError:
        """A step's failure with everything that encloses it."""
        failure = within.failure(error, state=state, trail=tuple(self.trail), own=own)
        self.execution.secrets.clean(failure)
        return failure

    async def move(
        self,
        updates: Values,
        after: str | None,
        *,
        joined: Joined | None = None,
        visits: Mapping[str, int] | None = None,
        straight_on: bool = False,
        attached: Attached | None = None,
    ) -> None:
        """Save a step's result together with where the branch goes on.

        If an arrow cannot be followed, the result is saved with the way on left open, and then the error raised.

        Args:
            updates: What the step changes.
            after: Where the branch goes on.
            joined: Items that are no longer needed.
            visits: Counts that replace the branch's.
            straight_on: The next step begins with this commit, whatever else is due.
            attached: What the step has saved with its result.

        Raises:
            WorkflowError: An arrow cannot be followed, or a value is too large.
            NewsFirst: The run would end, and signals have come since this step has looked for them.
        """
        run = self.execution
        size, grows, bears = weigh(updates.values())
        blobs = self._blobs(updates.values(), attached) if bears or attached else None
        if size > run.limits.least:
            self._measure(updates)
        own = merged(self.own, updates) if updates else self.own
        seen = merged(self._inherited, own) if self._inherited else own
        visits = self.position.visits if visits is None else visits
        written = None
        if run.journal.is_stored or blobs:
            also = () if attached is None else attached.also
            written = Written(updates, own, joined, blobs, also, is_flat=not (grows or size > LARGE or self.refs))
        decisions = None if run.chronicle is None else Decisions()
        try:
            position = self.plan.land(after, visits, seen, self.trail, decisions)
        except WorkflowError as error:
            run.secrets.clean(error)
            open_end = Position(after, visits)
            refs = self.refs if written is None else await self._save(written, open_end, decisions)
            if run.room is not None:
                self._tell(run.room, own, open_end)
            self._stand(own, seen, open_end, refs)
            raise
        refs = self.refs if written is None else await self._save(written, position, decisions)
        self.trail.extend(position.entered)
        if run.room is not None:
            self._tell(run.room, own, position)
        self._stand(own, seen, position, refs)
        if run.journal.must_pause and not straight_on:
            await run.journal.pause()

    async def freeze(self, items: list[ItemRecord], path: str, visit: int, *, begins: int = 1) -> None:
        """Save the items of the fan-out where the branch stands, of which so many begin at once."""
        inputs, journal = [item.input for item in items], self.execution.journal
        size, _, bears = weigh(inputs)
        if size > self.execution.limits.least:
            self._measure({f"item {item.idx}": item.input for item in items})
        blobs = self._blobs(inputs) if bears else None
        if journal.is_stored:
            frozen = tuple(item.stored(path, visit) for item in items)
            frame = self._frame(self.own, self.refs, self.position, len(items))
            parts = Parts(frame=frame, frozen=frozen)
            if blobs:
                parts["blobs"] = blobs
            if self.execution.chronicle is not None:
                parts["happened"] = say_frozen(self, len(items), begins)
            await journal.save(parts)
        if blobs:
            self.execution.blobs.keep(blobs)
        self.seq, self.width, self.frozen = self.seq + 1, len(items), (path, visit, items)
        if self.execution.room is not None:
            self._tell(self.execution.room, self.own, self.position, self.width)
        if journal.must_pause:
            await journal.pause()

    def _tell(self, room: Room, own: Values, position: Position, width: int | None = None) -> None:
        """Tell those who listen what is saved now, before or after that counts here."""
        seq, positions = self.seq + (width is None), (self.position, position)
        run_id, values = self.execution.run_id, (self.own, own)
        tell_saved(room, run_id, self.path, seq, values=values, positions=positions, width=width)

    def _measure(self, values: Values) -> None:
        """See that the place where it stands writes nothing that is too large."""
        try:
            measure(self.execution, self.standing, values)
        except ValueTooLarge as error:
            self._fail_by(error)

    def _blobs(self, values: Iterable[Stored], attached: Attached | None = None) -> Attachments | None:
        """The bytes that the place where it stands brings, none of which may be such as nobody may keep."""
        blobs = blobs_of(values, attached)
        try:
            check_blobs(blobs or {}, repr(self.standing), self.execution.limits, self.execution.secrets)
        except CannotStore as error:
            self._fail_by(error)
        return blobs

    def _fail_by(self, error: Exception) -> NoReturn:
        """Fail where it stands, by what nobody may keep or the store refuses."""
        place = self.place
        assert place is not None  # noqa: S101  # at the end nothing is written
        failure = self.failure(place.within, error, state=self.shown())
        raise failure from failure.__cause__

    async def _save(
        self, written: Written, position: Position, decisions: Decisions | None = None
    ) -> Mapping[str, Ref]:
        """Commit what a step has changed, if the run is stored; returns which values have rows of their own then.

        A statement on tables of the application that fails is a failure of the step.
        """
        refs, journal, blobs = self.refs, self.execution.journal, written.blobs
        if decisions is not None:
            say_decided(self, decisions)
        if journal.is_stored:
            layout = ALL_INSIDE if written.is_flat else self._lay_out(written)
            try:
                await journal.save(self._all_parts(written, layout, position))
            except NewsFirst:
                await self.execution.listen()
                if self.execution.signals.read_at == self.standing:
                    raise
                return await self._save(written, position)
            except (StatementFailed, StatementRefused) as error:
                self._fail_by(error)
            refs = layout.refs
        if blobs:
            self.execution.blobs.keep(blobs)
            release(written.own)
        return refs

    def _all_parts(self, written: Written, layout: Layout, position: Position) -> Parts:
        parts = self._parts(written.own, layout, position)
        if written.joined is not None:
            parts["joined"] = written.joined
        if written.blobs:
            parts["blobs"] = written.blobs
        if written.also:
            parts["also"] = written.also
        if self.execution.chronicle is not None:
            parts["happened"] = self._said(written, position, has_frame="frame" in parts)
        return parts

    def _said(self, written: Written, position: Position, *, has_frame: bool) -> tuple[Happening, ...]:
        """What the commit says for the history."""
        return say_moved(self, position, None if has_frame else written.updates)

    def _lay_out(self, written: Written) -> Layout:
        numbers, blobs = self.execution.numbers, written.blobs or NO_BLOBS
        return lay_out(self.path, numbers, self.refs, written.updates, written.own, blobs=blobs)

    def _stand(self, own: Values, seen: Values, position: Position, refs: Mapping[str, Ref]) -> None:
        """What it has written and where it stands now: the store knows it, and nothing may come in between."""
        self.own, self.values, self.refs = own, seen, refs
        self.position, self.seq, self.width = position, self.seq + 1, None
        self.place = self._place()

    def _place(self) -> Place | None:
        return None if self.position.next is None else self.plan.places[self.position.next]

    def _parts(self, own: Values, layout: Layout, position: Position) -> Parts:
        """What the commit writes; the run's last one carries its status."""
        if position.next is None:
            position = Position(None, {})
        parts = Parts(frame=self._frame(own, layout.refs, position))
        if layout.rows:
            parts["values"] = layout.rows
        if layout.dropped:
            parts["dropped"] = layout.dropped
        if position.next is None:
            parts["closing"] = Closing(RunStatus.COMPLETED, heard=self.execution.journal.heard)
        return parts

    def _frame(self, own: Values, refs: Mapping[str, Ref], position: Position, width: int | None = None) -> Frame:
        state = to_bytes({key: value for key, value in own.items() if key not in refs} if refs else own)
        return Frame(self.path, self.seq + 1, position.next, state, position.visits, width, refs)


def first_frame(
    plan: Plan,
    own: Values,
    path: str = "",
    *,
    seq: int = 1,
    inherited: Values | None = None,
    refs: Mapping[str, Ref] = NO_REFS,
    left_out: Collection[str] = (),
) -> Frame:
    """Where a branch begins. The run's own frame is stored before its first step, an item's with its first step."""
    position = first_position(plan, merged(inherited or {}, own))
    state = to_bytes({key: value for key, value in own.items() if key not in left_out} if left_out else own)
    return Frame(path, seq, position.next, state, position.visits, None, refs)


def first_position(plan: Plan, seen: Values) -> Position:
    """Where a branch begins that sees these values."""
    return plan.land(plan.start, {}, seen, ())


def to_bytes(values: Values) -> Mapping[str, bytes]:
    """JSON of each value."""
    return {key: value.data for key, value in values.items()}
