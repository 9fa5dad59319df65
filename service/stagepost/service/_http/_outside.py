"""What surrounds each request: its id, its entry in the log, and headers of the answer that browsers obey."""

import re
from http import HTTPStatus
from secrets import token_hex
from time import perf_counter
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stagepost.hub import get_logger

from ._serving import ASKED, Asked

REQUEST_ID: Final = "stagepost.request_id"  # in the scope of a request
_GIVEN: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LONGEST: Final = 300  # of a path in the log
CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = (
    ("Content-Security-Policy", CONTENT_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"),  # with no-referrer, forms would be sent with Origin: null
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
    ("Cache-Control", "no-store"),
)


class Outside:
    """Surrounds each request.

    Args:
        app: What answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._log = get_logger("service.access")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "websocket":  # nobody would have looked at who asks, and from which page
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _GIVEN.fullmatch(given) else token_hex(8)
        scope[REQUEST_ID] = request_id
        status, began = 0, perf_counter()

        async def completed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                _complete(MutableHeaders(scope=message), request_id, is_secure=scope.get("scheme") == "https")
            await send(message)

        try:
            await self._app(scope, receive, completed)
        finally:
            self._note(scope, status, perf_counter() - began)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        asked = scope.get(ASKED)
        who = asked.caller.name if isinstance(asked, Asked) and asked.caller is not None else None
        client = scope.get("client")
        level = self._log.warning if status >= HTTPStatus.INTERNAL_SERVER_ERROR else self._log.info
        level(
            "request",
            method=scope["method"],
            path=ascii(scope["path"])[1:-1][:_LONGEST],  # without the query, which may have what nobody is to read
            status=status or None,
            seconds=round(seconds, 4),
            caller=who,
            address=client[0] if client else None,
            request_id=scope[REQUEST_ID],
        )


def _complete(headers: MutableHeaders, request_id: str, *, is_secure: bool) -> None:
    headers["X-Request-ID"] = request_id
    for name, value in _HEADERS:
        headers.setdefault(name, value)
    if is_secure:
        headers.setdefault("Strict-Transport-Security", "max-age=31536000")
