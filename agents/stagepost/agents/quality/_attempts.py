"""What has become of an answer: its attempts, which of them is the best, and how it has ended."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, JsonValue

from .._models._messages import Usage
from ._criterion import Scorecard, ValidationResult


class CheckOutcome(StrEnum):
    """How the check of an answer has ended."""

    PASSED = "passed"
    """The first attempt has passed."""
    REFINED = "refined"
    """The refined answer has passed."""
    REVIEW = "review"
    """Nothing has failed, but something could not be decided: approved, and flagged for a person."""
    BEST = "best"
    """Criteria have failed, and the time was up: the best attempt goes out all the same."""
    FAILED = "failed"
    """Criteria have failed, and no refinement has healed them."""


class Attempt(BaseModel):
    """One version of an answer.

    Attributes:
        text: The answer.
        kept: Keys of the state that make it up, as JSON: what a later attempt has replaced is put back from here.
        scorecard: Its scorecard, evaluated.
        validation: What the validation has come to.
        changes: What was changed, for a refined answer.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    kept: Mapping[str, JsonValue] = {}
    scorecard: Scorecard
    validation: ValidationResult
    changes: tuple[str, ...] = ()


class Checked(BaseModel):
    """What `JudgeAndRefine` has done, under its key of the state.

    Attributes:
        attempts: The attempts, in order.
        outcome: How it has ended; None as long as it has not.
        best: Index of the attempt that was kept.
        refinement_attempted: Whether a refinement was begun.
        refinement_problem: Why it has brought no other answer, if it has not.
        changes: What the last refinement has changed.
        warnings: Criteria that were dropped or are doubtful, and why.
        model_calls: How often models were asked, as far as the pattern knows.
        usage: Tokens and cost of these.
        seconds: How long its stages took, by name; those of both validations together.
    """

    model_config = ConfigDict(frozen=True)

    attempts: tuple[Attempt, ...] = ()
    outcome: CheckOutcome | None = None
    best: int = 0
    refinement_attempted: bool = False
    refinement_problem: str | None = None
    changes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    model_calls: int = 0
    usage: Usage = Usage()
    seconds: Mapping[str, float] = {}

    @property
    def last(self) -> Attempt:
        """The last attempt."""
        return self.attempts[-1]

    @property
    def answer(self) -> Attempt:
        """The attempt that was kept."""
        return self.attempts[self.best]

    @property
    def refinement_succeeded(self) -> bool:
        """Whether the first attempt has failed, and a refined one has not."""
        return self.refinement_attempted and self.best > 0 and self.answer.validation.passed

    def with_seconds(self, stage: str, seconds: float) -> Mapping[str, float]:
        """The times of the stages, with some more for one of them."""
        return {**self.seconds, stage: self.seconds.get(stage, 0.0) + max(0.0, seconds)}


def best_of(attempts: Sequence[Attempt]) -> int:
    """Index of the attempt with the fewest failed, then the fewest undecided criteria; the earlier of equals."""

    def flaws(index: int) -> tuple[int, int, int]:
        scorecard = attempts[index].scorecard
        return len(scorecard.failed()), len(scorecard.unevaluated()), index

    return min(range(len(attempts)), key=flaws)


def outcome_of(attempt: Attempt, index: int, *, out_of_time: bool) -> CheckOutcome:
    """How a check ends that keeps this attempt.

    Args:
        attempt: The attempt.
        index: Its number.
        out_of_time: Whether there was no time for a refinement.
    """
    if not attempt.validation.passed:
        return CheckOutcome.BEST if out_of_time else CheckOutcome.FAILED
    if attempt.validation.needs_review:
        return CheckOutcome.REVIEW
    return CheckOutcome.REFINED if index else CheckOutcome.PASSED
