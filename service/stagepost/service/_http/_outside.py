"""What surrounds each request: its id, its entry in the log, what is known of it, and what becomes of failures."""

from collections.abc import Callable
from secrets import token_hex

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stagepost.hub import get_logger

from ._errors import answered, unexpected
from ._identity import Identity
from ._serving import ASKED, Asked, Serving


class Outside:
    """Surrounds each request.

    Args:
        app: What answers.
        identity: Finds out who asks.
        serving: What is served, as far as it is.
    """

    def __init__(self, app: ASGIApp, *, identity: Identity, serving: Callable[[], Serving | None]) -> None:
        self._app = app
        self._identity = identity
        self._serving = serving
        self._log = get_logger("service")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, client = Headers(scope=scope), scope.get("client")
        request_id, started = token_hex(8), False

        async def begun(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            caller = self._identity.caller(headers)
            address = client[0] if client else "unknown"
            scope[ASKED] = Asked(self._serving(), caller, address, request_id)
            await self._app(scope, receive, begun)
        except Exception as error:
            answer = answered(error)
            if answer is None:
                self._log.exception("request failed", reference=request_id)
                answer = unexpected(request_id)
            if started:
                raise
            await answer(scope, receive, send)
