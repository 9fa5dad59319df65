"""The agents that may have a run, each with its own turns and tools: who has it stands in the state."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from stagepost.workflows import State, StepContext

from .._delegation._calls import Lane
from .._delegation._records import Changes
from .._delegation._state import RunState
from .._tools._toolbox import Toolbox
from ..errors import InvalidAgent, UnknownAgent
from ._calling import ToolCalling
from ._made import MadeCall
from ._summarizing import Summarizing
from ._turn import Turn

if TYPE_CHECKING:
    from ._programming import Programming

_NO_PROGRAMS: Final = "a program of it is under way, and it has no programs= any more: give it back, or cancel the run"


class Seat:
    """What one agent does in a run.

    Args:
        turn: Takes its turns.
        calling: Makes its calls.
        summarizing: Has summaries written of what its model no longer sees.
        toolbox: What its model may call; None if that depends on servers or toolsets.
        programs: Runs the programs that are its answers; None if they are none.

    Attributes:
        toolbox: See above.
        take: Takes the next turn.
        summarize: Has the summary written that is due.
        in_turn: Makes the calls of the last answer one after another.
        lanes: The calls of the last answer, grouped by what may run at once.
        lane: Makes the calls of a group.
        in_order: The results of all groups.
        programs: See above.
    """

    def __init__(
        self,
        turn: Turn,
        calling: ToolCalling,
        summarizing: Summarizing,
        toolbox: Toolbox | None = None,
        *,
        programs: "Programming | None" = None,
    ) -> None:
        self.toolbox = toolbox
        self.take = turn.take
        self.summarize = summarizing.take
        self.in_turn = calling.in_turn
        self.lanes = calling.lanes
        self.lane = calling.lane
        self.in_order = calling.in_order
        self.programs = programs
        self._name = turn.agent

    async def program(self, given: State, context: StepContext) -> Mapping[str, object]:
        """Run the program of the last answer as far as it comes.

        Raises:
            InvalidAgent: The agent writes programs no more.
        """
        if self.programs is None:
            raise InvalidAgent(self._name, _NO_PROGRAMS)
        return await self.programs.take(given, context)


class Seats:
    """Has the holder of a run do what is to be done.

    Args:
        seats: By the agents' names; that of the agent which is asked first has None.
    """

    def __init__(self, seats: Mapping[str | None, Seat]) -> None:
        self._seats = seats

    async def take(self, given: State, context: StepContext) -> Mapping[str, object]:
        """Take the next turn."""
        return await self._of(given).take(given, context)

    async def program(self, given: State, context: StepContext) -> Mapping[str, object]:
        """Run the program of the last answer as far as it comes."""
        return await self._of(given).program(given, context)

    async def summarize(self, given: State, context: StepContext) -> Changes:
        """Have the summary written that is due."""
        return await self._of(given).summarize(given, context)

    async def in_turn(self, given: State, context: StepContext) -> Changes:
        """Make the calls of the last answer one after another."""
        return await self._of(given).in_turn(given, context)

    def lanes(self, given: State) -> Sequence[Lane]:
        """The calls of the last answer, grouped by what may run at once."""
        return self._of(given).lanes(given)

    async def lane(self, item: Lane, context: StepContext) -> Sequence[MadeCall]:
        """Make the calls of a group."""
        return await self._at(item[0].holder).lane(item, context)

    def in_order(self, given: State, results: Sequence[Sequence[MadeCall]]) -> Changes:
        """The results of all groups, in the order of the calls."""
        return self._of(given).in_order(given, results)

    def _of(self, given: State) -> Seat:
        return self._at(RunState(given).holder)

    def _at(self, holder: str | None) -> Seat:
        seat = self._seats.get(holder)
        if seat is None:
            raise UnknownAgent(str(holder), tuple(name for name in self._seats if name is not None))
        return seat
