"""The application: routes over a runner, with all that surrounds them."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from secrets import token_bytes
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from stagepost.workflows import Runner

from ._http._errors import passed_on
from ._http._health import HEALTH, Health, HealthCheck
from ._http._inside import Inside
from ._http._lifespan import Source, opened
from ._http._limits import RequestLimits
from ._http._origins import checked_origin
from ._http._outside import Outside
from ._http._runs._described import DescribedRoute, described_by
from ._http._runs._routes import document_route, run_routes
from ._http._service import Service
from ._http._serving import Serving
from ._keys._key import Key
from ._keys._keyring import Keyring
from ._keys._logins import Logins

Lifespan: TypeAlias = Callable[[Serving], AbstractAsyncContextManager[object]]


def create_app(
    source: Source,
    *,
    keys: Iterable[Key] = (),
    limits: RequestLimits | None = None,
    routes: Sequence[BaseRoute] = (),
    lifespan: Lifespan | None = None,
    pages: Mapping[str, Path] | None = None,
    hosts: Iterable[str] = (),
    origins: Iterable[str] = (),
    login_secret: str | bytes | None = None,
    checks: Iterable[HealthCheck] = (),
    has_docs: bool = True,
    inspector: bool = True,
) -> Starlette:
    """Make the application that serves the runs of a runner over HTTP.

    Args:
        source: The runner. One that is not entered is entered with its store when the application starts, recovers its
            runs, and is left at the end. One that is entered is used, for an application that is mounted in another
            one. A function that returns an async context manager of a runner is called when the application starts.
        keys: Who may ask for what. Without any, only requests from this machine are accepted, and they may do
            everything.
        limits: How much a caller may ask for.
        routes: Routes beside those of runs; they use `serving` and `caller`.
        lifespan: Entered with what is served once the runner is open, and left before it.
        pages: Folders of pages by name, see `page`; an empty mapping for the page to log in alone. None for no pages
            but those of the inspector.
        hosts: The names by which the service is asked for, such as ``"runs.example.com"``; requests for others are
            refused. By default any, if there are keys.
        origins: Pages of these sites may ask, with a key: ``"https://app.example.com"``. By default none (CORS).
        login_secret: Signs the cookies of logins, so that they outlive the process. By default a random one.
        checks: What ``GET /health`` tries beside the store.
        has_docs: Whether ``GET /openapi.json`` describes the routes.
        inspector: Whether the inspector is at ``/inspect``, for whoever has a key.

    Raises:
        InvalidKey: Two keys have one name.
        ValueError: A limit, an origin or a folder of pages is none, or two checks have one name.
    """
    keyring, allowed = Keyring(keys), frozenset(map(checked_origin, origins))
    service = Service(
        keyring,
        Logins(keyring, secret=_bytes(login_secret)),
        limits or RequestLimits(),
        hosts=frozenset(host.lower() for host in hosts),
        origins=allowed,
    )
    if isinstance(source, Runner):
        service.serving = Serving.of(source, service.limits)
    own = [DescribedRoute(HEALTH, Health(checks).answer), *routes]
    app = Starlette(
        routes=[
            *run_routes(),
            *own,
            *([document_route(described_by(own))] if has_docs else ()),
            *_page_routes(service, pages, has_inspector=inspector),
        ],
        middleware=[Middleware(Outside), *_cors(allowed), Middleware(Inside, service=service)],
        exception_handlers={HTTPException: passed_on},
        lifespan=_living(service, source, lifespan),
    )
    app.state.stagepost_has_keys = bool(keyring)
    app.router.redirect_slashes = False  # it would redirect to whatever host is asked for
    return app


def _living(
    service: Service, source: Source, lifespan: Lifespan | None
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def living(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            runner = await stack.enter_async_context(opened(source))
            served = Serving.of(runner, service.limits)
            if lifespan is not None:
                await stack.enter_async_context(lifespan(served))
            service.serving = served
            stack.callback(service.end)
            yield

    return living


def _page_routes(service: Service, folders: Mapping[str, Path] | None, *, has_inspector: bool) -> Sequence[BaseRoute]:
    if folders is None and not has_inspector:
        return ()
    from ._http._pages._login import LoginPages  # noqa: PLC0415  # needs jinja2
    from ._http._pages._pages import Pages  # noqa: PLC0415
    from ._inspector._inspector import FOLDERS, Inspector, of_service  # noqa: PLC0415

    service.pages = pages = Pages(folders or {}, FOLDERS if has_inspector else {})
    routes = [*LoginPages(service.keys, service.logins, service.rates, pages).routes(), *pages.routes()]
    return [*routes, *(Inspector(pages, of_service).routes() if has_inspector else ())]


def _cors(origins: frozenset[str]) -> Sequence[Middleware]:
    if not origins:
        return ()
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=sorted(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-API-Key"],
            expose_headers=["Retry-After", "X-Request-ID"],
        )
    ]


def _bytes(secret: str | bytes | None) -> bytes:
    if secret is None:
        return token_bytes(32)
    if len(secret) < 32:  # noqa: PLR2004  # what a signature by SHA-256 takes
        raise ValueError("login_secret= is too short: give at least 32 random characters")
    return secret.encode() if isinstance(secret, str) else secret
