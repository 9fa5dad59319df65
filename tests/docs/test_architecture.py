"""docs/architecture.md shows the code as it is: its journeys are traced, its tables read off."""

import re
from pathlib import Path

import pytest
from tests.docs._architecture import PAGE, PART, ROOT, named_transitions, transitions
from tests.docs._journeys import JOURNEYS, modules_of

TEXT = PAGE.read_text()
PARTS = {found["name"]: found[0] for found in PART.finditer(TEXT)}
ROW = re.compile(r"^\| `(?P<module>[\w/]+)` \|", re.MULTILINE)
NAMED = re.compile(r"`((?:hub|checkpoint|workflows|agents|tests)/[\w/]+\.py)`")


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_passes_the_modules_that_the_page_lists(name: str, tmp_path: Path) -> None:
    assert set(ROW.findall(PARTS[f"journey of {name}"])) == modules_of(name, tmp_path)


def test_the_transitions_are_those_of_the_runner() -> None:
    assert transitions() in PARTS["transitions"]
    assert next(before for before, _ in named_transitions()) == "storing"


@pytest.mark.parametrize("file", sorted(set(NAMED.findall(TEXT))))
def test_a_file_that_the_page_names_exists(file: str) -> None:
    folder, _, rest = file.partition("/")
    assert (ROOT / file).exists() or (ROOT / folder / "stagepost" / folder / rest).exists()
