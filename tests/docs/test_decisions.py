"""docs/decisions.md: each decision has a date and links to code that exists, and stands in the table of contents."""

import re
from datetime import date
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CONTENTS, *PARTS = re.split(r"^## ", (DOCS / "decisions.md").read_text(), flags=re.MULTILINE)
DECISIONS = [decision for part in PARTS for decision in re.split(r"^### ", part, flags=re.MULTILINE)[1:]]
each_decision = pytest.mark.parametrize("decision", DECISIONS, ids=lambda text: text.partition("\n")[0][:60])


@each_decision
def test_a_decision_has_a_date_and_links_to_code_that_exists(decision: str) -> None:
    found = re.match(r"[^\n]+\n\n(\d{4}-\d\d-\d\d) · ", decision)
    assert found is not None
    date.fromisoformat(found.group(1))
    paths = re.findall(r"\]\(([^)]+)\)", decision[found.end() :].partition("\n\n")[0])
    assert paths
    for path in paths:
        assert (DOCS / path).exists(), path


@each_decision
def test_a_decision_stands_in_the_table_of_contents(decision: str) -> None:
    assert f"[{decision.partition(chr(10))[0]}](#" in CONTENTS
