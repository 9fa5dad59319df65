"""The page that all tables stand on, each between two marks of its own."""

from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def write(text: str, begin: str, end: str, page: Path = PAGE) -> None:
    """Put a text between two marks of a page."""
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
