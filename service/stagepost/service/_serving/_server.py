"""Serving by uvicorn, until somebody ends it."""

import logging
import socket
from collections.abc import Callable
from typing import Final

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stagepost.hub import get_logger

from .._http._settings import ServiceSettings
from ._protocol import PatientProtocol

CLOSING: Final = 2  # seconds for requests that are being answered, before runs get their grace
_LONGEST_HEAD: Final = 32 * 1024  # bytes of a request's head
_SPARE: Final = 500  # connections that are no streams
_UVICORN: Final = logging.getLogger("uvicorn")


async def serve(app: ASGIApp, settings: ServiceSettings, bound: socket.socket, begun: Callable[[], None]) -> None:
    """Serve an application until the process is told to end (SIGTERM, SIGINT).

    Then nothing new is accepted, streams end, answers that are being made get 2 seconds, and the application's lifespan
    ends, in which its runner gets its grace. The signal has its usual effect afterwards.

    Args:
        app: The application.
        settings: Which proxies are believed, and how many streams there may be.
        bound: What it listens on.
        begun: Called once it serves.

    Raises:
        Exception: What its lifespan has raised when it began.
    """
    watched = _Lifespan(app)
    server = _Server(_config(watched, settings), begun)
    try:
        await server.serve(sockets=[bound])
    except SystemExit:
        if watched.error is None:
            raise
        raise watched.error from None


class _Server(uvicorn.Server):
    """Says when it serves."""

    def __init__(self, config: uvicorn.Config, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self._begun = begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        _UVICORN.setLevel(logging.CRITICAL)  # that it cannot start is said by whoever has called
        await super().startup(sockets)
        _UVICORN.setLevel(logging.ERROR)  # requests are in the log of the application
        self._begun()


class _Lifespan:
    """Keeps what an application raises when it starts, so that it is said once, and as a sentence."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.error: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def watched(message: Message) -> None:
            nonlocal has_started
            has_started = has_started or message["type"] == "lifespan.startup.complete"
            failed = message["type"] == "lifespan.startup.failed"
            await send({"type": message["type"]} if failed else message)  # the text is a traceback

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if has_started:
                get_logger("service").error("the application has failed at its end", exc_info=error)
            else:
                self.error = error
            raise


def _config(app: ASGIApp, settings: ServiceSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=PatientProtocol,
        ws="none",
        lifespan="auto",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=",".join(settings.proxies),
        limit_concurrency=settings.max_streams + _SPARE,
        timeout_graceful_shutdown=CLOSING,
        h11_max_incomplete_event_size=_LONGEST_HEAD,
    )
