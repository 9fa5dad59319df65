"""The benchmark runs; what a span costs, is for it to say."""

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from benchmarks.tracing import OURS, TASK, report


def test_the_report_has_a_row_for_each_kind_of_span() -> None:
    text = report(rounds=1, spans=70)
    for name in (*OURS, TASK):
        assert f"| {name} | " in text
