"""Tool calls that are to be made, as a run keeps them while they are."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic import BaseModel

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import TypedCodec

from .._models._messages import ToolCall


class Talk(BaseModel, frozen=True):
    """A conversation, as the state of the run that holds it keeps it.

    Attributes:
        agent: Name of the agent.
        turns: How many messages it has answered.
        run: The run below which its last turn was made.
        last: When that was, in seconds since 1970.
        ended: Whether it can go on no more.
    """

    agent: str
    turns: int = 0
    run: str = ""
    last: float = 0.0
    ended: bool = False


class Place(NamedTuple):
    """Which turn of which conversation a message is.

    Attributes:
        id: The conversation.
        agent: Who it is with.
        turn: Number of the turn, from 0.
        end: Whether it is the last one.
        run: The run below which the turn before was made; None if there is none, or if this answer has it, too.
        idle: Seconds since then; None where `run` is None.
    """

    id: str
    agent: str
    turn: int
    end: bool
    run: str | None = None
    idle: float | None = None


class PendingCall(NamedTuple):
    """A call that the model wants, with what is known of it beside that.

    Attributes:
        number: Unlike the model's id, never the same twice in a run.
        position: Its place among the calls of the answer.
        id: The model's name for it.
        name: The tool's name.
        arguments: What the model has written as arguments.
        root: The run at the root; None if this run is.
        complaint: Why it cannot be made, if that is known already.
        talk: Its place in a conversation with another agent, if it is a message.
        begun: Whether it counts as begun since the answer was saved; see `_beginning`.
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

    @property
    def call(self) -> ToolCall:
        """The call as the model has made it."""
        return ToolCall(id=self.id, name=self.name, arguments=self.arguments)

    @property
    def turn(self) -> int:
        """Number of the turn whose answer wants it, from 0."""
        return int(self.number.partition("-")[0])


Lane: TypeAlias = tuple[PendingCall, ...]
"""Calls to be made one after the other."""

LANE: Final = TypedCodec(Lane, immutable=True, verify=False)  # texts and numbers, which come back as they were


def call_number(turn: int, index: int) -> str:
    """A call's number: that of the turn, and its place among the calls of the turn."""
    return f"{turn}-{index}"


@dataclass(slots=True)
class Aside:
    """What a run has to know of a call beside its result.

    Attributes:
        nested: What runs below have used for it, by their keys, as `Spent.stored`.
        talk: A conversation as the call leaves it, by its id.
    """

    nested: Mapping[str, Mapping[str, Any]] | None = None
    talk: tuple[str, Talk] | None = None
