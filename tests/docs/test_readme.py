"""README.md: its table has each extra for users, and its lists name each page of the docs."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
OURS = {"bench", "bench-agents", "demo", "dev", "test"}  # of those who work on it


def test_the_table_has_each_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    table = TEXT.partition("| extra | adds |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == set(project["optional-dependencies"]) - OURS


def test_each_page_is_named() -> None:
    listed = TEXT.partition("## Documentation")[2]
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in listed] == []


def test_the_quickstart_leads_to_the_pages_for_operators() -> None:
    end = (ROOT / "docs" / "quickstart.md").read_text().partition("## What next")[2]
    assert re.findall(r"\]\(([\w-]+)\.md", end)[:3] == ["command-line", "operating", "deploying"]
