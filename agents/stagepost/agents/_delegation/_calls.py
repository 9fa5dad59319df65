"""Pending tool calls, as a run stores them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from pydantic import BaseModel, Field

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import TypedCodec

from .._models._messages import ToolCall


def _is_nothing(value: object) -> bool:
    return value is None


class Talk(BaseModel, frozen=True):
    """A conversation, as stored in the state of its run.

    Attributes:
        agent: Name of the agent.
        turns: How many messages it has answered.
        run: The parent run of its last turn.
        last: When that was, in seconds since 1970.
        ended: Whether it has ended, whatever the time is.
        idle: After how many seconds without a message it ends; None for never.
        by: The agent that talks, if the run was handed over to it.
    """

    agent: str
    turns: int = 0
    run: str = ""
    last: float = 0.0
    ended: bool = False
    idle: float | None = None
    by: Annotated[str | None, Field(exclude_if=_is_nothing)] = None

    def is_late(self, now: float) -> bool:
        """Whether nobody has written for its idle time."""
        return self.idle is not None and now - self.last > self.idle

    def is_over(self, now: float) -> bool:
        """Whether it takes no more messages."""
        return self.ended or self.is_late(now)


class Place(NamedTuple):
    """The turn and conversation of a message.

    Attributes:
        id: The conversation.
        agent: Who it is with.
        turn: Number of the turn, from 0.
        end: Whether it is the last one.
        run: The parent run of the previous turn; None if there is none, or if this answer has it, too.
        late: The idle time of the conversation, if the message comes after it.
    """

    id: str
    agent: str
    turn: int
    end: bool
    run: str | None = None
    late: float | None = None


class PendingCall(NamedTuple):
    """A call that the model requests, with further information.

    Attributes:
        number: Unique in a run, unlike the model's id.
        position: Its place among the calls of the answer.
        id: The model's name for it.
        name: The tool's name.
        arguments: The arguments as the model wrote them.
        root: The root run; None if this is it.
        complaint: Why it cannot be made, if known already.
        talk: Its place in a conversation with another agent, if it is a message.
        begun: Whether it has begun with the commit of the answer; see `_beginning`.
        holder: The agent that requests it, if the run was handed over to it.
    """

    number: str
    position: int
    id: str
    name: str
    arguments: str
    root: str | None = None
    complaint: str | None = None
    talk: Place | None = None
    begun: bool = False
    holder: str | None = None

    @property
    def call(self) -> ToolCall:
        """The call as the model made it."""
        return ToolCall(id=self.id, name=self.name, arguments=self.arguments)

    @property
    def turn(self) -> int:
        """Number of the turn whose answer requests it, from 0."""
        return int(self.number.partition("-")[0])


_PROGRAM: Final = "program-"

Lane: TypeAlias = tuple[PendingCall, ...]
"""Calls to be made one after the other."""

LANE: Final = TypedCodec(Lane, immutable=True, verify=False)  # texts and numbers, which come back unchanged


def call_number(turn: int, index: int) -> str:
    """A call's number: that of the turn, and its place among the calls of the turn."""
    return f"{turn}-{index}"


def program_call_id(number: str, branch: Sequence[int]) -> str:
    """The id of a call that a program makes.

    Args:
        number: Its number.
        branch: The parallel branch that makes it; empty outside of branches.
    """
    return f"{_PROGRAM}{number}{''.join(f'.{each}' for each in branch)}"


def is_of_program(call_id: str) -> bool:
    """Whether a program has made the call with this id."""
    return call_id.startswith(_PROGRAM)


@dataclass(slots=True)
class Aside:
    """What a run records about a call besides its result.

    Attributes:
        nested: What child runs have used for it, by their keys, as `Spent.stored`.
        talk: The conversation after the call, by its id.
        found: Names of the tools that it has found, if it has searched for some.
        handoff: Who has the run from now on; see `Handed`.
    """

    nested: Mapping[str, Mapping[str, Any]] | None = None
    talk: tuple[str, Talk] | None = None
    found: tuple[str, ...] = ()
    handoff: Mapping[str, str] | None = None
