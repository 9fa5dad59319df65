import pytest

from stagepost.agents.quality import QualityMetrics


def test_without_requests_there_are_no_rates() -> None:
    found = QualityMetrics().statistics()
    assert (found.requests, found.pass_rate, found.model_calls, found.stages) == (0, None, None, {})
    assert found.lines() == [
        "stagepost_quality_requests 0",
        "stagepost_quality_checked 0",
        "stagepost_quality_graceful_failures 0",
        "stagepost_quality_reviews 0",
    ]


def test_requests_calls_apologies_and_times_are_counted() -> None:
    metrics = QualityMetrics()
    for number in range(1, 101):
        metrics.note_request(seconds={"judge": number / 100}, model_calls=number % 2 + 4, graceful=number == 7)
    found = metrics.statistics()
    assert (found.requests, found.graceful_failures, found.graceful_failure_rate) == (100, 1, 0.01)
    assert found.model_calls == pytest.approx(4.5)
    assert (found.stages["judge"].p50, found.stages["judge"].p95) == (0.5, 0.95)
    assert 'stagepost_quality_stage_seconds{stage="judge",quantile="0.95"} 0.95' in found.lines()


def test_times_are_those_of_the_newest_thousand_and_counts_those_of_all() -> None:
    metrics = QualityMetrics()
    for number in range(1500):
        metrics.note_request(seconds={"judge": 100.0 if number < 500 else 1.0}, model_calls=1, graceful=False)
    times = metrics.statistics().stages["judge"]
    assert (times.count, times.p95) == (1500, 1.0)
