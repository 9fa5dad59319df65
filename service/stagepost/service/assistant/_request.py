"""What an assistant is asked, and what it answers."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from stagepost.agents.quality import Scorecard

from ..channels import FormattedResponse

AssistantPath: TypeAlias = Literal["pipeline", "single"]
"""How a request is answered: by the agents of the pipeline, or by one agent alone."""


class User(BaseModel):
    """Who asks.

    Attributes:
        id: Of the user.
        name: What the user is called; None if that is not known.
        time_zone: IANA name of the time zone in which "today" is meant.
        preferences: What else is known of the user, for the planner.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=200)]
    name: str | None = None
    time_zone: str = "UTC"
    preferences: Mapping[str, JsonValue] = {}

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(f"no time zone is named {name!r}: give an IANA name such as Europe/Oslo") from error
        return name


class AssistantRequest(BaseModel):
    """A message of a user.

    Attributes:
        request_id: Of this message: one that is sent again with the same id is answered once.
        conversation_id: The conversation that it belongs to, whatever channels it goes over.
        message: What the user says.
        channel: The channel that it came by, and that the answer goes out by.
        to: Where the answer goes, as the channel names it: a number, an address.
        user: Who asks.
        tenant: Whose user that is; without a slash.
        path: How it is answered: decided once per conversation, see `docs/assistant.md`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    request_id: Annotated[str, Field(min_length=1, max_length=200)]
    conversation_id: Annotated[str, Field(min_length=1, max_length=200)]
    message: Annotated[str, Field(min_length=1, max_length=20_000)]
    channel: Annotated[str, Field(min_length=1)]
    to: Annotated[str, Field(min_length=1)]
    user: User
    tenant: Annotated[str, Field(min_length=1, max_length=200, pattern="^[^/]+$")] = "default"
    path: AssistantPath = "pipeline"

    @field_validator("message")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("the message is blank")
        return text


class HistoryLine(BaseModel):
    """What was said before in a conversation.

    Attributes:
        role: Who has said it.
        text: What.
        channel: Over which channel.
        at: When (UTC).
    """

    model_config = ConfigDict(frozen=True)

    role: Literal["user", "assistant"]
    text: str
    channel: str
    at: datetime


class AssistantMetadata(BaseModel):
    """How an answer has come about.

    Attributes:
        duration_ms: How long the stages took, all in all.
        agent_calls: How often agents were asked.
        llm_calls: How often models were asked.
        tokens: What models have read and written.
        cost: US dollars; None if unknown.
        stage_times: Seconds of each stage.
        style_version: The edition of the style guide that was used throughout.
        path: How it was answered.
        kind: The kind of request, as planned.
        delivered: Whether all parts have gone out.
        needs_review: Whether a person should look at the answer.
        reason: Why it is an apology, or should be looked at; None if neither.
        tools_used: The tools that the data came from.
        warnings: Criteria that were dropped or are doubtful, and why.
    """

    model_config = ConfigDict(frozen=True)

    duration_ms: float
    agent_calls: int
    llm_calls: int
    tokens: int = 0
    cost: float | None = None
    stage_times: Mapping[str, float]
    style_version: str
    path: AssistantPath
    kind: str = "other"
    delivered: bool = True
    needs_review: bool = False
    reason: str | None = None
    tools_used: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class AssistantResult(BaseModel):
    """The answer to a message: it was sent, stored, logged and counted.

    Attributes:
        request_id: The request.
        channel: The channel that it went out by.
        formatted_response: What was sent.
        validation_passed: Whether it has passed its scorecard; False for an apology.
        refinement_attempted: Whether it was refined.
        graceful_failure: Whether it is an apology.
        scorecards: Those of all attempts, in order.
        metadata: How it has come about.
    """

    model_config = ConfigDict(frozen=True)

    request_id: str
    channel: str
    formatted_response: FormattedResponse
    validation_passed: bool
    refinement_attempted: bool
    graceful_failure: bool
    scorecards: tuple[Scorecard, ...] = ()
    metadata: AssistantMetadata
