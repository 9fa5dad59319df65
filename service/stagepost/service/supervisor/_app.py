"""A supervisor as a service: routes, and what they need while an application runs."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypedDict, Unpack

from starlette.applications import Starlette
from starlette.routing import BaseRoute

from stagepost.agents import Agent

from .._app import Lifespan, create_app
from .._http._health import HealthCheck
from .._http._lifespan import Source
from .._http._limits import RequestLimits
from .._http._serving import Serving
from .._keys._key import Key
from ..errors import NotServing
from ._checks import model_checks
from ._config import TurnLimits, WorkerConfig
from ._routes import SupervisorRoutes
from ._sessions import ChatSessions

_PER_MINUTE = "60/minute"


class SupervisorService:
    """The routes of a supervisor and their lifespan, for an application of `create_app`.

    ::

        service = SupervisorService(supervisor, workers)
        app = create_app(runner, routes=service.routes, lifespan=service.lifespan)

    Args:
        supervisor: The supervisor; the application's runner has it among its workflows.
        workers: Its workers.
        limits: How long turns may take.
    """

    def __init__(
        self, supervisor: Agent[str], workers: Sequence[WorkerConfig], *, limits: TurnLimits | None = None
    ) -> None:
        self._supervisor = supervisor
        self._workers = tuple(workers)
        self._limits = limits
        self._open: ChatSessions | None = None

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """``POST /chat``, ``POST /chat/complete``, ``GET /chat/{session_id}`` and ``GET /chat/{session_id}/events``."""
        return SupervisorRoutes(self._sessions).routes

    @asynccontextmanager
    async def lifespan(self, serving: Serving) -> AsyncIterator[ChatSessions]:
        """Open the sessions for as long as the application serves."""
        async with ChatSessions(serving.runner, self._supervisor, self._workers, limits=self._limits) as sessions:
            self._open = sessions
            try:
                yield sessions
            finally:
                self._open = None

    def _sessions(self) -> ChatSessions:
        if self._open is None:
            raise NotServing
        return self._open


class AppOptions(TypedDict, total=False):
    """What `create_app` takes beside; see there."""

    keys: Iterable[Key]
    pages: Mapping[str, Path] | None
    hosts: Iterable[str]
    origins: Iterable[str]
    login_secret: str | bytes | None
    has_docs: bool
    inspector: bool


def create_supervisor_app(
    source: Source,
    supervisor: Agent[str],
    workers: Sequence[WorkerConfig],
    *,
    turns: TurnLimits | None = None,
    limits: RequestLimits | None = None,
    routes: Sequence[BaseRoute] = (),
    lifespan: Lifespan | None = None,
    checks: Iterable[HealthCheck] = (),
    **options: Unpack[AppOptions],
) -> Starlette:
    """Make the application of a supervisor: `create_app`, with the supervisor's routes.

    Args:
        source: The runner, as for `create_app`; the supervisor is among its workflows.
        supervisor: The supervisor.
        workers: Its workers.
        turns: How long turns may take.
        limits: How much a caller may ask for; by default 60 requests a minute.
        routes: Further routes.
        lifespan: Entered before the sessions are opened, as for `create_app`.
        checks: What ``GET /health`` tries beside the store and the models of the supervisor and its workers. One that
            has the name of a model's check, such as ``"model gpt-5-mini"``, takes its place.
        options: What else `create_app` takes, such as ``keys=`` and ``pages=``.
    """
    service = SupervisorService(supervisor, workers, limits=turns)

    @asynccontextmanager
    async def living(serving: Serving) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if lifespan is not None:
                await stack.enter_async_context(lifespan(serving))
            await stack.enter_async_context(service.lifespan(serving))
            yield

    return create_app(
        source,
        limits=limits or RequestLimits(requests=_PER_MINUTE),
        routes=[*service.routes, *routes],
        lifespan=living,
        checks=_checks(supervisor, checks),
        **options,
    )


def _checks(supervisor: Agent[str], given: Iterable[HealthCheck]) -> Sequence[HealthCheck]:
    own = list(given)
    names = {check.name for check in own}
    return [*own, *(check for check in model_checks(supervisor) if check.name not in names)]
