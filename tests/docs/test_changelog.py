"""CHANGELOG.md: what is not released yet stands above the version of the package, which has a date."""

import re
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_newest_version_is_that_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    headings = re.findall(r"^## \[([^]]+)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert [name for name, _ in headings[:2]] == ["Unreleased", version]
    assert all(date.fromisoformat(day) for _, day in headings[1:])
