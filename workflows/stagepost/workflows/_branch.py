"""One sequential strand of a run: where it stands, what it has written, how it is saved."""

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stagepost.checkpoint import Closing, Frame, ItemStatus, Joined, RunStatus, join_values

from ._context import StepContext
from ._events import NodeRevisited
from ._execution import Execution, ItemRecord, Parts
from ._program import Place, Position, Program, Within, child_path
from ._state import Value, Values
from .errors import WorkflowError

_LONGEST_TRAIL = 1000  # nodes that an error can show; a graph without a limit would fill the memory


class Branch:
    """The run itself, or (as `ItemBranch`) one item whose worker is a pattern.

    What is in memory changes only after the store has said that it is saved.

    Args:
        execution: The run.
        program: What the branch executes.
        frame: Where it stands.
        inherited: What its steps see beside what it has written itself.
    """

    def __init__(
        self,
        execution: Execution,
        program: Program,
        frame: Frame,
        *,
        inherited: Values | None = None,
    ) -> None:
        self.execution = execution
        self.program = program
        self.path = frame.path
        self.own: Values = to_values(frame.state)
        self.seq = frame.seq
        self.width = frame.width
        self.position = Position(frame.next, frame.visits)
        self.around: tuple[int, ...] = ()
        self._inherited = inherited or {}
        place = self.place()
        node = None if place is None else place.within.node
        self.trail = deque([] if node is None else [node], maxlen=_LONGEST_TRAIL)

    @property
    def values(self) -> Values:
        """All that its steps see."""
        return self._seen(self.own)

    def view(self) -> Any:
        """The state, made anew for one step."""
        return self.program.schema.view(self.values)

    def place(self) -> Place | None:
        """Where it stands; None at the end."""
        return None if self.position.next is None else self.program.places[self.position.next]

    def visit(self, within: Within) -> int:
        """Which visit of the enclosing node this is, from 1; 0 outside of graphs."""
        return 0 if within.node is None else self.position.visits.get(within.node, 0)

    def full_path(self, path: str) -> str:
        """A place's path from the run's root."""
        return child_path(self.path, path)

    def context(self, path: str, within: Within) -> StepContext:
        """What a step at a place may know."""
        return StepContext(self.execution, self.full_path(path), self.visit(within), self.around)

    def failure(self, within: Within, error: BaseException, *, state: Any, own: bool = True) -> WorkflowError:
        """A step's failure with everything that encloses it."""
        return within.failure(error, state=state, trail=tuple(self.trail), own=own)

    async def move(
        self,
        updates: Values,
        after: str | None,
        *,
        joined: Joined | None = None,
        visits: Mapping[str, int] | None = None,
    ) -> None:
        """Save a step's result together with where the branch goes on.

        If an arrow cannot be followed, the result is saved with the way on left open, and then the error raised.

        Args:
            updates: What the step changes.
            after: Where the branch goes on.
            joined: Items that are no longer needed.
            visits: Counts that replace the branch's.

        Raises:
            WorkflowError: An arrow cannot be followed.
        """
        own = {**self.own, **updates} if updates else self.own
        open_end = Position(after, self.position.visits if visits is None else visits)
        try:
            position = self._settle(open_end, own)
        except WorkflowError:
            await self._save(own, open_end, joined)
            raise
        await self._save(own, position, joined)
        await self.execution.pause()

    async def freeze(self, items: list[ItemRecord], path: str, visit: int) -> None:
        """Save the items of the fan-out where the branch stands."""
        frozen = tuple(item.stored(path, visit) for item in items)
        await self.execution.save(frame=self._frame(self.own, self.position, len(items)), frozen=frozen)
        self.seq, self.width = self.seq + 1, len(items)
        await self.execution.pause()

    async def _save(self, own: Values, position: Position, joined: Joined | None) -> None:
        if self.execution.journal is None:
            await self.execution.save()
        else:
            parts = self._ending(own) if position.next is None else Parts(frame=self._frame(own, position))
            if joined is not None:
                parts["joined"] = joined
            await self.execution.save(**parts)
        self.own, self.position, self.seq, self.width = own, position, self.seq + 1, None

    def _ending(self, own: Values) -> Parts:
        """The run's last commit carries its status."""
        return Parts(frame=self._frame(own, Position(None, {})), closing=Closing(RunStatus.COMPLETED))

    def _frame(self, own: Values, position: Position, width: int | None = None) -> Frame:
        return Frame(self.path, self.seq + 1, position.next, to_bytes(own), position.visits, width)

    def _seen(self, own: Values) -> Values:
        return {**self._inherited, **own} if self._inherited else own

    def _settle(self, position: Position, own: Values) -> Position:
        settled = self.program.settle(position, lambda: self.program.schema.view(self._seen(own)), self.trail)
        for node in settled.entered:
            self._enter(node, settled.visits[node])
        return settled

    def _enter(self, node: str, visits: int) -> None:
        self.trail.append(node)
        if visits > 1:
            self.execution.emit(NodeRevisited, path=self.full_path(node), visits=visits)


class ItemBranch(Branch):
    """One item of a fan-out whose worker is a pattern: its frame holds only what its own steps wrote.

    Args:
        parent: The branch that the fan-out belongs to.
        program: The worker.
        fan_out: Path of the fan-out from the run's root.
        visit: Which visit of it.
        record: The item.
        item_key: Key of the state that its steps find the item under; None if they get none.
    """

    def __init__(
        self,
        parent: Branch,
        program: Program,
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
        inherited = parent.values if item_key is None else {**parent.values, item_key: Value(record.input)}
        frame = parent.execution.frames.pop(path, None) or first_frame(program, {}, path, seq=0, inherited=inherited)
        super().__init__(parent.execution, program, frame, inherited=inherited)
        self.around = (*parent.around, visit)

    def put_aside(self) -> None:
        """Leave the frame where a branch that goes on with the item finds it, as if it came from the store."""
        if self.seq:
            self.execution.frames[self.path] = Frame(
                self.path, self.seq, self.position.next, to_bytes(self.own), self.position.visits, self.width
            )

    async def _save(self, own: Values, position: Position, joined: Joined | None) -> None:
        await super()._save(own, position, joined)
        if position.next is None:  # noted before anything can interrupt: the store knows it
            self._record.status, self._record.value = ItemStatus.OK, join_values(to_bytes(own))

    def _ending(self, own: Values) -> Parts:
        """The item's last commit carries its outcome, and its frame is no longer needed."""
        done = replace(self._record, status=ItemStatus.OK, value=join_values(to_bytes(own)))
        ended = self.path if self.seq else None
        return Parts(outcomes=(done.stored(self._fan_out, self._visit),), ended=ended)


def first_frame(
    program: Program,
    own: Values,
    path: str = "",
    *,
    seq: int = 1,
    inherited: Values | None = None,
) -> Frame:
    """Where a branch begins. The run's own frame is stored before its first step, an item's with its first step."""
    seen = {**(inherited or {}), **own}
    position = program.settle(Position(program.start, {}), lambda: program.schema.view(seen), ())
    return Frame(path, seq, position.next, to_bytes(own), position.visits)


def to_bytes(values: Values) -> Mapping[str, bytes]:
    """JSON of each value."""
    return {key: value.data for key, value in values.items()}


def to_values(state: Mapping[str, bytes]) -> Values:
    """Values of the JSON of each."""
    return {key: Value(data) for key, data in state.items()}
