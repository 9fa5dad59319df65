"""How good answers are, and how long they take: numbers of one process, to be shown or exported."""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final

from pydantic import BaseModel, ConfigDict

from ._attempts import Checked, CheckOutcome

_KEPT: Final = 1000  # times of each stage that percentiles are made of: the newest ones
_MEDIAN: Final = 0.5
_LATE: Final = 0.95


class StageTimes(BaseModel):
    """How long a stage takes, by its newest thousand times.

    Attributes:
        count: How often it was timed since the process began.
        p50: Seconds that half of them took at most.
        p95: Seconds that 95 % of them took at most.
    """

    model_config = ConfigDict(frozen=True)

    count: int
    p50: float
    p95: float


class QualityStatistics(BaseModel):
    """Numbers since the process began; a rate is None as long as there is nothing to divide by.

    Attributes:
        requests: Requests that were answered.
        checked: Answers that were judged.
        pass_rate: Share of these that have passed at the first attempt.
        refinement_rate: Share of these for which a refinement was begun.
        refinement_success_rate: Share of the refinements whose answer has passed.
        graceful_failures: Requests that were answered with an apology.
        graceful_failure_rate: Their share of the requests.
        reviews: Answers that are flagged for review.
        model_calls: Calls of models for each request, on average.
        stages: Times of the stages, by name.
    """

    model_config = ConfigDict(frozen=True)

    requests: int
    checked: int
    pass_rate: float | None
    refinement_rate: float | None
    refinement_success_rate: float | None
    graceful_failures: int
    graceful_failure_rate: float | None
    reviews: int
    model_calls: float | None
    stages: Mapping[str, StageTimes]

    def lines(self) -> list[str]:
        """The numbers in the text format of Prometheus, one sample a line; rates without a value are left out."""
        plain = self.model_dump(exclude={"stages"})
        found = [f"stagepost_quality_{name} {value:g}" for name, value in plain.items() if value is not None]
        for stage, times in self.stages.items():
            found.append(f'stagepost_quality_stage_count{{stage="{stage}"}} {times.count}')
            for quantile, value in (("0.5", times.p50), ("0.95", times.p95)):
                found.append(f'stagepost_quality_stage_seconds{{stage="{stage}",quantile="{quantile}"}} {value:g}')
        return found


class QualityMetrics:
    """Counts what becomes of answers. Give one to `JudgeAndRefine`, and read `statistics`."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._times: dict[str, deque[float]] = {}

    def note_check(self, checked: Checked) -> None:
        """Count a check that has ended."""
        counts = self._counts
        counts["checked"] += 1
        counts["passed"] += checked.attempts[0].validation.passed
        counts["refined"] += checked.refinement_attempted
        counts["healed"] += checked.refinement_succeeded
        counts["reviews"] += checked.outcome is CheckOutcome.REVIEW

    def note_request(self, *, seconds: Mapping[str, float], model_calls: int, graceful: bool) -> None:
        """Count a request that was answered.

        Args:
            seconds: How long each stage took.
            model_calls: How often models were asked.
            graceful: Whether the answer is an apology.
        """
        self._counts["requests"] += 1
        self._counts["graceful"] += graceful
        self._counts["calls"] += model_calls
        for stage, took in seconds.items():
            self._times.setdefault(stage, deque(maxlen=_KEPT)).append(took)
            self._counts[f"stage {stage}"] += 1

    def statistics(self) -> QualityStatistics:
        """The numbers so far."""
        counts = self._counts
        return QualityStatistics(
            requests=counts["requests"],
            checked=counts["checked"],
            pass_rate=_share(counts["passed"], counts["checked"]),
            refinement_rate=_share(counts["refined"], counts["checked"]),
            refinement_success_rate=_share(counts["healed"], counts["refined"]),
            graceful_failures=counts["graceful"],
            graceful_failure_rate=_share(counts["graceful"], counts["requests"]),
            reviews=counts["reviews"],
            model_calls=_share(counts["calls"], counts["requests"]),
            stages={stage: self._stage(stage, sorted(times)) for stage, times in sorted(self._times.items())},
        )

    def _stage(self, stage: str, times: Sequence[float]) -> StageTimes:
        count = self._counts[f"stage {stage}"]
        return StageTimes(count=count, p50=_quantile(times, _MEDIAN), p95=_quantile(times, _LATE))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _quantile(times: Sequence[float], share: float) -> float:
    """The smallest of some sorted times that this share of them does not exceed."""
    return times[max(0, ceil(share * len(times)) - 1)]
