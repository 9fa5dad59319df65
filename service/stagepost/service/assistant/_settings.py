"""How long the stages may take, and what is said when nothing else can be."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field


class StageBudgets(BaseModel):
    """Seconds for each stage. A stage that takes longer is given up, and the request goes on without it.

    Attributes:
        analyze: For the planner to say how to answer.
        data: For the data agent.
        compose: For the answer.
        validate_: For the judge, each time.
        refine: For the refinement.
        total: For all stages together. What is left of it limits each of them; once nothing is left, the best answer
            so far goes out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    analyze: float = Field(default=2.0, gt=0)
    data: float = Field(default=2.0, gt=0)
    compose: float = Field(default=2.0, gt=0)
    validate_: float = Field(default=1.0, gt=0, alias="validate")
    refine: float = Field(default=2.0, gt=0)
    total: float = Field(default=10.0, gt=0)

    @classmethod
    def of(cls, seconds: float) -> Self:
        """So many seconds for each stage, and five times as many for all."""
        return cls(analyze=seconds, data=seconds, compose=seconds, validate=seconds, refine=seconds, total=5 * seconds)


class AssistantTexts(BaseModel):
    """What is said when there is no other answer. No joke, no technical word, nobody to blame.

    Attributes:
        data_unavailable: The data cannot be reached.
        cannot_help: Anything else.
        last_resort: Even that could not be formatted for the channel: plain text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_unavailable: str = "Sorry, your data cannot be reached at the moment. Please ask again in a few minutes."
    cannot_help: str = "Sorry, that did not work this time. Could you ask again in other words?"
    last_resort: str = "Sorry, that did not work this time. Please ask again."
