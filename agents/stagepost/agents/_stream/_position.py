"""How much of a run a reader has been told."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class CallTold(NamedTuple):
    """How much of a call of the last answer was told. Each count is of parts: one for asked, one for ended.

    Attributes:
        approvals: Of its approval.
        questions: Of its questions, in their order.
        doubts: Of its doubts.
        agent: Of the agent that it asks: started, finished.
        below: How much of the run of that agent; None if nothing.
        result: Whether its result was told.
        handoff: Whether it was told that it has handed the run over.
    """

    approvals: int = 0
    questions: int = 0
    doubts: int = 0
    agent: int = 0
    below: "Position | None" = None
    result: bool = False
    handoff: bool = False


class Position(NamedTuple):
    """How much of a run was told: all up to a message, and what of the calls of that message.

    Attributes:
        upto: Place of the last message of which everything was told; what belongs to the calls of a message stands at
            the places of their results. Before the first message of the run it is the place before that.
        turn: Number of the next turn after that message.
        said: How many parts of the next message were told.
        calls: What was told of the calls of that message, by the places of their results.
        holder: Name of the agent that has the run there, if that is not the one which was asked.
    """

    upto: int
    turn: int = 0
    said: int = 0
    calls: Mapping[int, CallTold] = MappingProxyType({})
    holder: str = ""

    def with_call(self, place: int, told: CallTold) -> "Position":
        """The same with what was told of one call."""
        return self._replace(calls={**self.calls, place: told})


class End(NamedTuple):
    """The end of a run that was told.

    Attributes:
        status: How it has ended.
        epoch: How often the run had been claimed by then: a run that is resumed may end again.
    """

    status: str
    epoch: int


class Cursor(NamedTuple):
    """Where a reader goes on.

    Attributes:
        position: How much of the run was told.
        end: The last end that was told, if nothing was after it.
    """

    position: Position
    end: End | None = None
