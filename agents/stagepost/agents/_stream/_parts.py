"""The parts of a stream, by their types."""

from typing import ClassVar, Final, Literal

from pydantic import JsonValue

from stagepost._dataclasses import dataclass

from ._part import StreamPart
from ._wait_parts import (
    ApprovalAsked,
    ApprovalDecided,
    DoubtRaised,
    DoubtSettled,
    QuestionAnswered,
    QuestionAsked,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegan(StreamPart):
    """The model is about to be asked; not numbered.

    Attributes:
        iteration: Number of the turn, from 0.
    """

    type: ClassVar[str] = "turn"
    is_numbered: ClassVar[bool] = False

    iteration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSaid(StreamPart):
    """A message of the transcript: a request, an answer of the model, or what the model was told about its answer.

    Attributes:
        role: Who says it: ``"user"``, or ``"assistant"`` for the model.
        text: The text.
        thinking: The model's thinking, as far as its provider shows it.
    """

    type: ClassVar[str] = "message"

    role: Literal["user", "assistant", "system"]
    text: str
    thinking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(StreamPart):
    """The model has requested a tool call, which is not made yet.

    Attributes:
        name: The tool's name.
        arguments: The arguments as JSON values; the text that the model wrote if that is no JSON.
        phrase: What happens, for people: "Getting weather for London...".
        tool_call_id: The model's id of the call.
    """

    type: ClassVar[str] = "tool_call"

    name: str
    arguments: JsonValue
    phrase: str
    tool_call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(StreamPart):
    """A tool call has its result.

    Attributes:
        name: The tool's name.
        result: The first 1,000 characters of the result, or of the error; all of it for a reader with
            ``whole_results``.
        tool_call_id: The model's id of the call.
        success: Whether nothing went wrong.
    """

    type: ClassVar[str] = "tool_result"

    name: str
    result: str
    tool_call_id: str
    success: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenArrived(StreamPart):
    """A piece of an answer has arrived; not numbered, and it may be dropped.

    Attributes:
        token: The text of the piece.
        index: Its number within the answer. With 0, what came of this turn before is void.
        kind: What it is a piece of.
        agent: Name of the agent.
        turn: Number of the turn, from 0.
        tool: Name of the tool whose arguments it is a piece of; None for other kinds.
        call: Index of the call among those of the answer, for arguments; otherwise None.
    """

    type: ClassVar[str] = "token"
    is_numbered: ClassVar[bool] = False

    token: str
    index: int
    kind: Literal["text", "thinking", "arguments"] = "text"
    agent: str = ""
    turn: int = 0
    tool: str | None = None
    call: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialOutput(StreamPart):
    """What of a typed answer has arrived; not numbered.

    Attributes:
        output: That, as JSON values.
    """

    type: ClassVar[str] = "partial"
    is_numbered: ClassVar[bool] = False

    output: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgressed(StreamPart):
    """How far a tool call is; not numbered.

    Attributes:
        name: The tool's name.
        progress: How far it is.
        total: How far it has to go; None if unknown.
        message: What it says; None if it says nothing.
    """

    type: ClassVar[str] = "progress"
    is_numbered: ClassVar[bool] = False

    name: str
    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStarted(StreamPart):
    """A call has begun to ask another agent; the other's parts follow.

    Attributes:
        agent: Name of the other agent.
        conversation_id: The conversation; None if the other agent is a tool.
    """

    type: ClassVar[str] = "agent_started"

    agent: str
    conversation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFinished(StreamPart):
    """The agent that a call has asked is done; no further part of it follows.

    Attributes:
        agent: Name of the other agent.
        conversation_id: The conversation; None if the other agent is a tool.
        status: How its run has ended.
        error: Why it has failed; None if it has not.
        result: Its whole answer, as JSON values; None if it has not completed.
    """

    type: ClassVar[str] = "agent_finished"

    agent: str
    conversation_id: str | None = None
    status: Literal["completed", "failed", "cancelled", "dead"] = "completed"
    error: str | None = None
    result: JsonValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver(StreamPart):
    """The conversation was handed over to another agent, whose parts follow.

    Attributes:
        agent: Name of the agent that has it from now on.
        by: Name of the agent that had it.
    """

    type: ClassVar[str] = "handoff"

    agent: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted(StreamPart):
    """The model sees less of the transcript from now on; not numbered, and the transcript stays whole.

    Attributes:
        hidden: How many messages it does not see any more, in all.
        shortened: Of how many results it sees only a part, in all.
        summary: What stands for the messages; empty if there is only a note.
    """

    type: ClassVar[str] = "compacted"
    is_numbered: ClassVar[bool] = False

    hidden: int
    shortened: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(StreamPart):
    """Pieces of an answer were dropped, since the reader was too slow; not numbered.

    Attributes:
        from_: Number of the first piece that is missing; ``from`` in JSON.
        to: Number of the last one; where the end of an answer is missing, it is at most this.
        generation: Number of the turn whose answer they belong to; None if they belong to several.
    """

    type: ClassVar[str] = "gap"
    is_numbered: ClassVar[bool] = False

    from_: int
    to: int
    generation: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompleted(StreamPart):
    """The task has its final answer; the last part.

    Attributes:
        result: The answer, as JSON values.
    """

    type: ClassVar[str] = "completed"
    is_last: ClassVar[bool] = True

    result: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFailed(StreamPart):
    """The task has failed; the last part, unless the task is resumed.

    Attributes:
        error: Why.
    """

    type: ClassVar[str] = "error"
    is_last: ClassVar[bool] = True

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCancelled(StreamPart):
    """The task was cancelled; the last part."""

    type: ClassVar[str] = "cancelled"
    is_last: ClassVar[bool] = True


PARTS: Final[tuple[type[StreamPart], ...]] = (
    TurnBegan,
    MessageSaid,
    ToolCalled,
    ToolReturned,
    TokenArrived,
    PartialOutput,
    ToolProgressed,
    ApprovalAsked,
    ApprovalDecided,
    QuestionAsked,
    QuestionAnswered,
    DoubtRaised,
    DoubtSettled,
    AgentStarted,
    AgentFinished,
    HandedOver,
    Compacted,
    Gap,
    TaskCompleted,
    TaskFailed,
    TaskCancelled,
)
