"""The agents that may have a run, each with its own turns and tools: who has it stands in the state."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stagepost.workflows import State, StepContext

from .._delegation._calls import Lane
from .._delegation._state import Changes, RunState
from ..errors import UnknownAgent
from ._calling import ToolCalling
from ._made import MadeCall
from ._turn import Turn


class Seat(NamedTuple):
    """What one agent does in a run.

    Attributes:
        turn: Takes its turns.
        calling: Makes its calls.
    """

    turn: Turn
    calling: ToolCalling


class Seats:
    """Has the holder of a run do what is to be done.

    Args:
        seats: By the agents' names; that of the agent which is asked first has None.
    """

    def __init__(self, seats: Mapping[str | None, Seat]) -> None:
        self._seats = seats

    async def take(self, given: State, context: StepContext) -> Mapping[str, object]:
        """Take the next turn."""
        return await self._of(given).turn.take(given, context)

    async def in_turn(self, given: State, context: StepContext) -> Changes:
        """Make the calls of the last answer one after another."""
        return await self._of(given).calling.in_turn(given, context)

    def lanes(self, given: State) -> Sequence[Lane]:
        """The calls of the last answer, grouped by what may run at once."""
        return self._of(given).calling.lanes(given)

    async def lane(self, item: Lane, context: StepContext) -> Sequence[MadeCall]:
        """Make the calls of a group."""
        return await self._at(item[0].holder).calling.lane(item, context)

    def _of(self, given: State) -> Seat:
        return self._at(RunState(given).holder)

    def _at(self, holder: str | None) -> Seat:
        seat = self._seats.get(holder)
        if seat is None:
            raise UnknownAgent(str(holder), tuple(name for name in self._seats if name is not None))
        return seat
