"""What is kept of an answer that has failed a criterion, for whoever improves prompts and criteria."""

from datetime import UTC, datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from ._attempts import Checked, CheckOutcome
from ._criterion import Scorecard, ValidationResult


class ValidationFailureLog(BaseModel):
    """An answer whose first attempt has failed, or that nobody could decide about.

    Attributes:
        request_id: The request that was answered.
        question: What was asked.
        channel: The channel of the answer.
        scorecard: That of the first attempt.
        results: What the validation of each attempt has come to.
        refinement_attempted: Whether a refinement was begun.
        refinement_succeeded: Whether the refined answer has passed.
        final_outcome: How it has ended.
        reason: Why the first attempt has failed, or why nobody could decide.
        logged_at: When (UTC).
    """

    model_config = ConfigDict(frozen=True)

    request_id: str
    question: str
    channel: str | None
    scorecard: Scorecard
    results: tuple[ValidationResult, ...]
    refinement_attempted: bool
    refinement_succeeded: bool
    final_outcome: CheckOutcome
    reason: str
    logged_at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    @classmethod
    def of(cls, checked: Checked, *, request_id: str, question: str, channel: str | None, now: datetime) -> Self | None:
        """The record of a check that has ended; None if its first attempt has passed.

        Args:
            checked: The check.
            request_id: The request.
            question: What was asked.
            channel: The channel of the answer.
            now: The time (UTC).
        """
        if checked.outcome is None or checked.outcome is CheckOutcome.PASSED:
            return None
        first = checked.attempts[0]
        return cls(
            request_id=request_id,
            question=question,
            channel=channel,
            scorecard=first.scorecard,
            results=tuple(attempt.validation for attempt in checked.attempts),
            refinement_attempted=checked.refinement_attempted,
            refinement_succeeded=checked.refinement_succeeded,
            final_outcome=checked.outcome,
            reason=checked.refinement_problem or first.validation.feedback or first.validation.review_reason or "",
            logged_at=now,
        )
