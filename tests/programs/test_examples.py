"""The table of programs with what they give."""

from pathlib import Path

import pytest

from stagepost.programs import End, run_sync, show

TABLE = [line.split("\t") for line in (Path(__file__).parent / "examples.tsv").read_text().splitlines()]
# what the language prints, and cannot be written in it: keys of maps are written as keywords and texts only
SHOWN = {"{true [1 3] false [2]}": "{false [2] true [1 3]}", "#'y": "#'y"}


def same(left: str, right: str) -> bool:
    """Whether two programs give values that print equally; NaN equals itself here."""
    return show(run_sync(left).value) == (SHOWN.get(right) or show(run_sync(right).value))


@pytest.mark.parametrize(("program", "expected"), [row[:2] for row in TABLE], ids=[row[0] for row in TABLE])
def test_example(program: str, expected: str) -> None:
    outcome = run_sync(program)
    word, _, rest = expected.partition(" ")
    if word == "error":
        assert outcome.end is End.ERROR
        assert outcome.error is not None
        assert outcome.error.kind == rest
    elif word == "return":
        assert outcome.end is End.RETURN
        assert show(outcome.value) == rest
    elif word == "fail":
        assert outcome.end is End.FAIL
        assert outcome.error is not None
        assert outcome.error.kind == rest
    else:
        assert outcome.error is None, str(outcome.error)
        assert same(program, expected)
