"""What a page is asked for, and what it may read."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from starlette.requests import Request

from stagepost._dataclasses import dataclass

from .._http._pages._pages import root_of
from .._http._serving import Serving
from .._keys._caller import Caller
from .._keys._key import Scope
from .._verbs._file import FileVerbs
from .._verbs._verbs import Verbs
from ..errors import RequestRefused

Sight: TypeAlias = Verbs | FileVerbs
"""What can be seen: the runs of a service, or those in a file."""

PREFIX: Final = "/inspect"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a page.

    Attributes:
        request: It.
        sight: What can be seen.
        caller: Who asks.
        serving: What the service works with; None where a file alone is looked at.
    """

    request: Request
    sight: Sight
    caller: Caller
    serving: Serving | None = None

    @property
    def verbs(self) -> Verbs:
        """What can be done.

        Raises:
            RequestRefused: A file is looked at, of which nobody here owns the runs.
        """
        if isinstance(self.sight, FileVerbs):
            raise RequestRefused("This file is only looked at: acts are for the service that owns it")
        return self.sight

    def path(self, name: str) -> str:
        """What stands in the path for a name."""
        value: str = self.request.path_params[name]
        return value

    def given(self, name: str, otherwise: str = "") -> str:
        """What stands after the question mark for a name; the last, if there are several."""
        return self.request.query_params.get(name, otherwise).strip()

    def may(self, scope: str) -> bool:
        """Whether whoever asks may do what needs this scope, here."""
        return not isinstance(self.sight, FileVerbs) and self.caller.may(Scope(scope))

    @property
    def has_hub(self) -> bool:
        """Whether there is a hub to look at."""
        return self.serving is not None and self.serving.runner.hub is not None

    def url(self, *parts: str, **query: object) -> str:
        """The address of a page of the inspector.

        Args:
            *parts: What follows ``/inspect``, not quoted; a part keeps its slashes.
            **query: What follows the question mark; None and empty texts are left out, lists are repeated.
        """
        return address(root_of(self.request), *parts, **query)

    async def bell(self, run_id: str) -> AsyncGenerator[None, None]:
        """Rings when something of a run may have changed."""
        async for _ in self.verbs.bell(self.caller, run_id):
            yield


Opened: TypeAlias = Callable[[Request], Ask]
"""Makes what is asked of a request, having seen that whoever asks may read."""


def address(root: str, *parts: str, **query: object) -> str:
    """The address of a page of the inspector; see `Ask.url`."""
    path = "/".join((f"{root}{PREFIX}", *(quote(part, safe="/:@!$,;=~") for part in parts)))
    told = [f"{quote(name)}={quote(value)}" for name, value in _pairs(query)]
    return f"{path}?{'&'.join(told)}" if told else path


def _pairs(query: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values of a query, in order."""
    found = [(name, each) for name, value in query.items() for each in (value if isinstance(value, list) else [value])]
    return [(name, str(value)) for name, value in found if value not in (None, "")]
