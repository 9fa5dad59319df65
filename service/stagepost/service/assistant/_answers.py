"""What the agents of the pipeline answer."""

from typing import Literal

from pydantic import BaseModel, Field, JsonValue


class ProposedCriterion(BaseModel):
    """A criterion as a planner proposes it. Those that nobody could check are dropped later, with a warning.

    Attributes:
        id: A short name: letters, digits and underscores.
        description: What is looked at.
        expected: What must be the case.
    """

    id: str
    description: str
    expected: str


class Plan(BaseModel):
    """How a message is to be answered.

    Attributes:
        needs_data: Whether data is needed for it.
        data_request: What is to be looked up, if so.
        kind: The kind of request: it stands for built-in criteria, see `stagepost.agents.quality.criteria_for`.
        steps: What is to be done, a few words each.
        criteria: Further criteria for the answer.
    """

    needs_data: bool
    data_request: dict[str, JsonValue] | None = None
    kind: str = "other"
    steps: list[str] = Field(default_factory=list)
    criteria: list[ProposedCriterion] = Field(default_factory=list)


class Extracted(BaseModel):
    """What was found. An error comes back as data.

    Attributes:
        success: Whether it could be looked up.
        data: What was found, as JSON; empty data is a success, too.
        tools_used: The tools that it came from.
        error: Why it could not be looked up.
    """

    success: bool
    data: JsonValue = None
    tools_used: list[str] = Field(default_factory=list)
    error: str | None = None


class Composed(BaseModel):
    """An answer in Markdown.

    Attributes:
        response: The text.
        type: Whether it tells data, talks, or tells that something went wrong.
    """

    response: str
    type: Literal["data", "conversational", "error"] = "conversational"
