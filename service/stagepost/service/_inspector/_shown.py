"""What a page shows."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from http import HTTPStatus
from typing import TypeAlias

from starlette.responses import Response

from stagepost._dataclasses import dataclass

from ._asking import Ask


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows.

    Attributes:
        name: Of the page: its templates are ``inspect/NAME.html`` and, for each part, ``inspect/NAME/PART.html``.
        title: What the window is called.
        values: What the templates show.
        parts: What may change while it is looked at, by the names of its templates.
        section: The entry of the navigation that it belongs to.
        run_id: The open run that it shows, and no other; empty for a page of many, and of a run that has ended.
        status: The status of the answer.
        every: After how many seconds it changes, also if nothing is committed; 0 if only with a commit.
    """

    name: str
    title: str
    values: Mapping[str, object] = field(default_factory=dict)
    parts: Sequence[str] = ()
    section: str = ""
    run_id: str = ""
    status: int = HTTPStatus.OK
    every: float = 0.0


@dataclass(frozen=True, slots=True)
class Led:
    """Something was done, and the browser goes on to a page that says so once.

    Attributes:
        address: Of the page.
        did: What is said there.
    """

    address: str
    did: str


Build: TypeAlias = Callable[[Ask], Awaitable[Shown | Response]]
"""Makes what a page shows, also each time when something has changed; or an answer of its own."""

Answer: TypeAlias = Callable[[Ask], Awaitable[Shown | Led]]
"""Does what a form asks for; shows it, or sends the browser on."""
