"""The parts of a stream that tell what calls ask people."""

from typing import ClassVar, Literal

from pydantic import JsonValue

from stagepost._dataclasses import dataclass

from ._part import StreamPart


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAsked(StreamPart):
    """A call waits for a person's approval.

    Attributes:
        approval_id: For `Tasks.decide`.
        tool: The tool's name.
        arguments: The arguments of the call, as JSON values.
        reason: Why it waits: the matching rule, or ``"needs_approval"``.
    """

    type: ClassVar[str] = "approval_requested"

    approval_id: str
    tool: str
    arguments: JsonValue
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecided(StreamPart):
    """A person has decided about a call, or nobody has in time.

    Attributes:
        approval_id: As in `ApprovalAsked`.
        allowed: Whether the call is made.
        by: Who has decided; None if nobody has said, or the time was up.
        reason: Why not; None if no reason is known.
    """

    type: ClassVar[str] = "approval_decided"

    approval_id: str
    allowed: bool
    by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(StreamPart):
    """A call waits for a value from outside.

    Attributes:
        question_id: For `Tasks.answer`.
        tool: The tool's name.
        arguments: The arguments of the call, as JSON values.
        schema: JSON schema of the value.
        message: What is asked, if the arguments do not say it.
        server: Name of the MCP server that asks; None if the tool does.
        url: Where a person has to go; None if a value is wanted.
        reason: Why the value before was not taken, if this asks again.
    """

    type: ClassVar[str] = "question_asked"

    question_id: str
    tool: str
    arguments: JsonValue
    schema: JsonValue
    message: str = ""
    server: str | None = None
    url: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(StreamPart):
    """Somebody has answered a question, or nobody has in time.

    Attributes:
        question_id: As in `QuestionAsked`.
        answer: What was said: ``"answer"`` for a value, ``"refuse"``, ``"dismiss"``, or ``"expired"``.
        value: The value, if it is one.
        by: Who has answered; None if nobody has said.
        reason: Why it was refused; None if no reason is known.
    """

    type: ClassVar[str] = "question_answered"

    question_id: str
    answer: Literal["answer", "refuse", "dismiss", "expired"]
    value: JsonValue = None
    by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtRaised(StreamPart):
    """A process has ended while a call was made, and a person has to say what came of it.

    Attributes:
        doubt_id: For `Tasks.settle`.
        tool: The tool's name.
        arguments: The arguments of the call, as JSON values.
    """

    type: ClassVar[str] = "doubt_raised"

    doubt_id: str
    tool: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtSettled(StreamPart):
    """A person has said what came of a call in doubt.

    Attributes:
        doubt_id: As in `DoubtRaised`.
        by: Who; None if nobody has said.
    """

    type: ClassVar[str] = "doubt_settled"

    doubt_id: str
    by: str | None = None
