"""The application: routes over a runner, with all that surrounds them."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from stagepost.workflows import Runner

from .._keys._key import Key
from .._keys._keyring import Keyring
from ._errors import http_error
from ._identity import Identity
from ._lifespan import Source, opened
from ._limits import RequestLimits
from ._outside import Outside
from ._runs._routes import run_routes
from ._serving import Serving

Lifespan: TypeAlias = Callable[[Serving], AbstractAsyncContextManager[object]]


def create_app(
    source: Source,
    *,
    keys: Iterable[Key] = (),
    limits: RequestLimits | None = None,
    routes: Sequence[BaseRoute] = (),
    lifespan: Lifespan | None = None,
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

    Raises:
        InvalidKey: Two keys have one name.
    """
    limits = limits or RequestLimits()
    state = _State(Serving.of(source, limits) if isinstance(source, Runner) else None)

    @asynccontextmanager
    async def living(_app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            runner = await stack.enter_async_context(opened(source))
            served = Serving.of(runner, limits)
            if lifespan is not None:
                await stack.enter_async_context(lifespan(served))
            state.serving = served
            stack.callback(state.end)
            yield

    return Starlette(
        routes=[*run_routes(), *routes],
        middleware=[Middleware(Outside, identity=Identity(Keyring(keys)), serving=lambda: state.serving)],
        exception_handlers={HTTPException: http_error},
        lifespan=living,
    )


class _State:
    """What is served at a time."""

    def __init__(self, serving: Serving | None) -> None:
        self.serving = serving

    def end(self) -> None:
        """Nothing is served any more."""
        self.serving = None
