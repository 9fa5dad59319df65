"""The benchmark runs; how fast imports are, is for it to say."""

from benchmarks.imports import FLOOR, HELP, LAYERS, report, seconds


def test_what_is_imported_takes_time() -> None:
    assert seconds(["colorsys"]) > 0


def test_the_report_has_a_row_for_the_dependencies_and_for_the_layers() -> None:
    text = report(rounds=1)
    for modules in (FLOOR, LAYERS):
        assert f"| {', '.join(f'`{name}`' for name in modules)} |" in text
    assert "| 1.00 |" in text
    assert f"| `{HELP}` |" in text
