"""All pages of the inspector, as routes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from .._http._flash import Flashes
from .._http._pages._pages import Pages
from .._http._serving import asked, caller, serving
from .._http._streams import EventStream, OpenStreams
from .._keys._key import Scope
from ._asking import PREFIX, Ask, Opened
from ._live import Following
from ._pulse import Pulse
from ._rendering import Rendering
from ._shown import Answer, Build, Led, Shown
from ._table import ANSWERS, PAGES

FOLDERS: Final[Mapping[str, Path]] = MappingProxyType(
    {"inspect": Path(__file__).parent / "pages", "drawing": Path(__file__).parents[1] / "_drawing"}
)
_EVENTS: Final = "text/event-stream"


class Inspector:
    """Answers requests for pages.

    Args:
        pages: Makes pages of templates; it has the folders `FOLDERS`.
        opened: Finds out what is asked.
        streams: Counts pages that follow; None for those of the service.
        label: What is looked at, if it is a file.
    """

    def __init__(self, pages: Pages, opened: Opened, *, streams: OpenStreams | None = None, label: str = "") -> None:
        self._rendering = Rendering(pages, label)
        self._opened = opened
        self._streams = streams
        self._pulse = Pulse()
        self._flashes = Flashes()

    def routes(self) -> Sequence[BaseRoute]:
        """Their routes."""
        shown = [_route(path, partial(self._shown, build), "GET") for path, build in PAGES]
        return [*shown, *(_route(path, partial(self._done, answer), "POST") for path, answer in ANSWERS)]

    async def _shown(self, build: Build, request: Request) -> Response:
        ask = self._opened(request)
        if _EVENTS in request.headers.get("accept", ""):
            return self._followed(build, ask)
        found = await build(ask)
        return found if isinstance(found, Response) else self._page(ask, found)

    async def _done(self, answer: Answer, request: Request) -> Response:
        ask = self._opened(request)
        found = await answer(ask)
        if isinstance(found, Led):
            return self._flashes.lead(request, found.address, found.did)
        return self._rendering.page(ask, found)

    def _page(self, ask: Ask, shown: Shown) -> Response:
        """A page, with what was done just before."""
        answer = self._rendering.page(ask, shown, did=self._flashes.said(ask.request))
        self._flashes.forget(ask.request, answer)
        return answer

    def _followed(self, build: Build, ask: Ask) -> Response:
        request = ask.request
        known = request.headers.get("last-event-id") or ask.given("live")
        events = Following(self._rendering, self._pulse, ask, build).events(known)
        streams = self._streams or serving(request).streams
        return EventStream(events, streams=streams, who=asked(request).who)


def of_service(request: Request) -> Ask:
    """What is asked of a service.

    Raises:
        KeyRequired: Nobody is logged in.
        ScopeRequired: The key may not read.
        NotServing: The service has not started, or has ended.
    """
    who = caller(request, Scope.READ)
    found = serving(request)
    return Ask(request, found.verbs, who, found)


def _route(path: str, endpoint: Callable[[Request], Awaitable[Response]], method: str) -> Route:
    return Route(f"{PREFIX}{path}", endpoint, methods=[method])
