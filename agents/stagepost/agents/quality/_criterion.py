"""What an answer has to fulfil: one criterion, and a scorecard of several."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class ScorecardCriterion(BaseModel):
    """Something that can be said of an answer with yes or no.

    Attributes:
        id: What it is called: letters, digits, ``_`` and ``-``. A code check of this name decides about it, if there is
            one.
        description: What is looked at, in at least ten characters.
        expected: What must be the case.
        passed: Whether it is; None as long as nobody has said so.
        feedback: What to change. Required if it has failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")
    description: str = Field(min_length=10)
    expected: str = Field(min_length=1)
    passed: bool | None = None
    feedback: str | None = None

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if self.passed is False and not (self.feedback or "").strip():
            raise ValueError(f"criterion {self.id!r} has failed without feedback: say what to change")
        return self

    def judged(self, *, passed: bool | None, feedback: str | None = None) -> "ScorecardCriterion":
        """The criterion with a decision about it.

        Args:
            passed: Whether the answer fulfils it; None if that cannot be said.
            feedback: What to change, or why it cannot be said. If it has failed without any, what was expected.
        """
        said = feedback or (f"expected: {self.expected}" if passed is False else None)
        return self.model_copy(update={"passed": passed, "feedback": said})


class Scorecard(BaseModel):
    """The criteria for one answer, and what has become of them.

    Attributes:
        request_id: The request that is answered.
        criteria: At least one; their ids are unique.
        overall_passed: Whether every criterion was evaluated and has passed, as of the last `evaluate`.
        created_at: When it was made (UTC).
        evaluated_at: When `evaluate` was last called; None if never.
    """

    request_id: str
    criteria: list[ScorecardCriterion] = Field(min_length=1)
    overall_passed: bool = False
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    evaluated_at: datetime | None = None

    @field_validator("criteria")
    @classmethod
    def _are_unique(cls, criteria: list[ScorecardCriterion]) -> list[ScorecardCriterion]:
        ids = [criterion.id for criterion in criteria]
        twice = next((each for each in ids if ids.count(each) > 1), None)
        if twice is not None:
            raise ValueError(f"two criteria have the id {twice!r}: give one of them another")
        return criteria

    def evaluate(self, *, now: datetime | None = None) -> bool:
        """Decide about the whole: passed if every criterion was evaluated and has passed.

        Args:
            now: The time (UTC); by default that of the system.
        """
        self.overall_passed = all(criterion.passed is True for criterion in self.criteria)
        self.evaluated_at = now or datetime.now(UTC)
        return self.overall_passed

    def failed(self) -> list[ScorecardCriterion]:
        """The criteria that have failed, in order."""
        return [criterion for criterion in self.criteria if criterion.passed is False]

    def unevaluated(self) -> list[ScorecardCriterion]:
        """The criteria about which nobody has decided, in order."""
        return [criterion for criterion in self.criteria if criterion.passed is None]

    def judged(self, decided: Sequence[ScorecardCriterion]) -> "Scorecard":
        """A scorecard with these decisions in place of the criteria of the same ids."""
        known = {criterion.id: criterion for criterion in decided}
        return self.model_copy(update={"criteria": [known.get(each.id, each) for each in self.criteria]})


class ValidationResult(BaseModel):
    """What a validation has come to.

    Attributes:
        passed: Whether the answer may go out: no criterion has failed.
        failed_criteria_ids: The criteria that have failed; none if it has passed.
        feedback: A line ``- description: feedback`` for each of these.
        validated_at: When (UTC).
        needs_review: Whether a person should look at it, since some criterion could not be decided.
        review_reason: Why, if so.
    """

    model_config = ConfigDict(frozen=True)

    passed: bool
    failed_criteria_ids: list[str] = []
    feedback: str = ""
    validated_at: datetime
    needs_review: bool = False
    review_reason: str | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.passed and self.failed_criteria_ids:
            raise ValueError(f"it has passed, and {self.failed_criteria_ids} have failed: one of them is wrong")
        if not self.passed and not self.failed_criteria_ids:
            raise ValueError("it has not passed: name the criteria that have failed")
        return self

    @classmethod
    def of(cls, scorecard: Scorecard, *, review_reason: str | None = None) -> Self:
        """The result of a scorecard that was evaluated.

        Args:
            scorecard: The scorecard.
            review_reason: Why some criteria could not be decided, if anybody knows more than that.
        """
        failed, open_ = scorecard.failed(), [criterion.id for criterion in scorecard.unevaluated()]
        reason = review_reason or (f"nobody could decide about {', '.join(open_)}" if open_ else None)
        return cls(
            passed=not failed,
            failed_criteria_ids=[criterion.id for criterion in failed],
            feedback="\n".join(f"- {criterion.description}: {criterion.feedback}" for criterion in failed),
            validated_at=scorecard.evaluated_at or datetime.now(UTC),
            needs_review=reason is not None,
            review_reason=reason,
        )
