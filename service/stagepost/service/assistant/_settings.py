"""How long the stages may take, and what is said when nothing else can be."""

from typing import Annotated, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

_Text: TypeAlias = Annotated[str, Field(pattern=r"\S")]


class StageBudgets(BaseModel):
    """Seconds for each stage. A stage that takes longer is given up, and the request goes on without it.

    Attributes:
        analyze: For the planner to say how to answer.
        data: For the data agent.
        compose: For the answer.
        brand: For the answer's form, each time; then it goes out as text that is not parsed.
        validate_: For the judge, each time.
        refine: For the refinement.
        total: For all stages together. What is left of it limits each of them; once nothing is left, the best answer
            so far goes out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    analyze: float = Field(default=2.0, gt=0)
    data: float = Field(default=2.0, gt=0)
    compose: float = Field(default=2.0, gt=0)
    brand: float = Field(default=0.5, gt=0)
    validate_: float = Field(default=1.0, gt=0, alias="validate")
    refine: float = Field(default=2.0, gt=0)
    total: float = Field(default=10.0, gt=0)

    @classmethod
    def of(cls, seconds: float) -> Self:
        """So many seconds for each stage, and five times as many for all."""
        each = dict.fromkeys(("analyze", "data", "compose", "brand", "validate", "refine"), seconds)
        return cls.model_validate({**each, "total": 5 * seconds})


class AssistantTexts(BaseModel):
    """What is said when there is no other answer. No joke, no technical word, nobody to blame.

    Attributes:
        data_unavailable: The data cannot be reached.
        cannot_help: Anything else.
        last_resort: Even that could not be formatted for the channel: plain text.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    data_unavailable: _Text = "Sorry, your data cannot be reached at the moment. Please ask again in a few minutes."
    cannot_help: _Text = "Sorry, that did not work this time. Could you ask again in other words?"
    last_resort: _Text = "Sorry, that did not work this time. Please ask again."
