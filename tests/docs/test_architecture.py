"""docs/architecture.md shows the code as it is: its journeys are traced, its tables read off."""

import re

import pytest
from tests.docs._architecture import PAGE, PART, ROOT, named_transitions, transitions
from tests.docs._journeys import JOURNEYS, passed

TEXT = PAGE.read_text()
PARTS = {found["name"]: found[0] for found in PART.finditer(TEXT)}
ROW = re.compile(r"^\| `(?P<module>[\w/]+)` \|", re.MULTILINE)
LENGTHS = {"commit": 14, "answer": 47, "approval": 80, "recovery": 46, "cancellation": 42, "part": 53, "request": 33}
NAMED = re.compile(r"`((?:hub|checkpoint|workflows|agents|service|tests)/[\w/]+\.py)`")


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_passes_the_modules_that_the_page_lists(name: str) -> None:
    listed = set(ROW.findall(PARTS[f"journey of {name}"]))
    found = passed(name, listed)
    assert found.always <= listed <= found.ever


@pytest.mark.parametrize(("name", "most"), LENGTHS.items())
def test_a_journey_does_not_get_longer(name: str, most: int) -> None:
    assert len(ROW.findall(PARTS[f"journey of {name}"])) <= most


def test_the_transitions_are_those_of_the_runner() -> None:
    assert transitions() in PARTS["transitions"]
    assert next(before for before, _ in named_transitions()) == "storing"


@pytest.mark.parametrize("file", sorted(set(NAMED.findall(TEXT))))
def test_a_file_that_the_page_names_exists(file: str) -> None:
    folder, _, rest = file.partition("/")
    assert (ROOT / file).exists() or (ROOT / folder / "stagepost" / folder / rest).exists()
