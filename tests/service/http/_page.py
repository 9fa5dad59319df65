"""The parts of docs/http.md that are generated from the table of routes: ``python -m tests.service.http._page``."""

import re
from pathlib import Path

from stagepost.service._http._runs._operations import OPERATIONS
from stagepost.service._verbs._scopes import SCOPES

PAGE = Path(__file__).parents[3] / "docs" / "http.md"


def route_table() -> str:
    rows = [
        f"| `{each.method} {each.path.replace(':path', '')}` | {SCOPES[each.verb].value} | {each.summary} |"
        for each in OPERATIONS
    ]
    return "\n".join(["| route | scope | what it does |", "|---|---|---|", *rows])


def written(page: str) -> str:
    """The page with its generated parts."""
    return re.sub(r"(<!-- routes -->\n).*?(<!-- end -->)", rf"\1\n{route_table()}\n\n\2", page, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
