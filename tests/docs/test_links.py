"""Every link from one page of the repository to another, or to a heading, leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for link in LINK.findall(CODE.sub("", page.read_text())):
            if "://" not in link:
                yield page, link


def anchors(page: Path) -> set[str]:
    """What headings are called in addresses: lower case, hyphens for spaces, no other signs."""
    headings = HEADING.findall(re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "link"), list(links()), ids=lambda value: str(getattr(value, "name", value)))
def test_a_link_leads_somewhere(page: Path, link: str) -> None:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    assert target.exists()
    if anchor:
        assert anchor in anchors(target)
