"""The benchmark runs; how late answers are, is for it to say."""

from benchmarks.assistant import report


def test_the_report_has_a_row_for_each_way() -> None:
    text = report(rounds=1, count=2, seconds=0.001)
    for name in ("passes, alone", "is refined, alone", "passes, 2 at once", "is refined, 2 at once"):
        assert f"| {name} | " in text
