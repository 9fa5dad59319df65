"""From what a page shows to its text: parts first, each with an id, and the page around them."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from markupsafe import Markup
from starlette.responses import HTMLResponse

from .._http._pages._pages import Pages
from .._verbs._file import FileVerbs
from ._asking import Ask
from ._shown import Shown
from ._words import Words

_NAVIGATION: Final = (
    ("inbox", "Inbox", ()),
    ("runs", "Runs", ("runs",)),
    ("hub", "Hub", ("hub",)),
    ("check", "Deploy check", ("check",)),
)


class Rendering:
    """Makes the texts of pages.

    Args:
        pages: Makes them of templates.
        label: What is looked at, if it is a file.
    """

    def __init__(self, pages: Pages, label: str = "") -> None:
        self._pages = pages
        self._label = label

    def parts(self, ask: Ask, shown: Shown) -> Mapping[str, str]:
        """What may change, by ids."""
        return {f"part-{name}": self._part(ask, shown, name) for name in shown.parts}

    def page(self, ask: Ask, shown: Shown, *, did: str = "") -> HTMLResponse:
        """The whole page.

        Args:
            ask: What was asked for.
            shown: What it shows.
            did: What was done just before; empty if nothing.
        """
        parts = self.parts(ask, shown)
        values = self._values(ask, shown)
        text = self._pages.text(
            ask.request,
            f"inspect/{shown.name}.html",
            part={name.removeprefix("part-"): Markup(text) for name, text in parts.items()},  # noqa: S704  # made by templates that escape
            state=state_of(parts),
            did=did,
            sections=[
                (ask.url(*path), title, key == shown.section)
                for key, title, path in _NAVIGATION
                if key != "hub" or ask.has_hub
            ],
            **values,
        )
        return HTMLResponse(text, shown.status)

    def _part(self, ask: Ask, shown: Shown, name: str) -> str:
        inside = self._pages.text(ask.request, f"inspect/{shown.name}/{name}.html", **self._values(ask, shown))
        return f'<div id="part-{name}" class="part">{inside}</div>'

    def _values(self, ask: Ask, shown: Shown) -> Mapping[str, object]:
        is_file = isinstance(ask.sight, FileVerbs)
        return {
            "to": ask.url,
            "may": ask.may,
            "words": Words,
            "title": shown.title,
            "file": self._label if is_file else "",
            "owner": ask.sight.owner if isinstance(ask.sight, FileVerbs) else None,
            **shown.values,
        }


def state_of(parts: Mapping[str, str]) -> str:
    """What tells one state of a page from another, part by part: a digest of each, in their order."""
    return ".".join(sha256(text.encode()).hexdigest()[:10] for text in parts.values())
