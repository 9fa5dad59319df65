"""What each request passes before a route sees it, and what becomes of errors."""

from typing import Final

import anyio
from sse_starlette.sse import SendTimeoutError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stagepost.hub import get_logger

from ..errors import KeyRequired
from ._bodies import within
from ._cut import AnswerCut
from ._errors import Told, ending, told, unexpected
from ._outside import REQUEST_ID
from ._service import Service
from ._serving import ASKED, Asked

_PARTING: Final = 1.0  # seconds to say that the service ends


class Inside:
    """Judges requests, and tells errors.

    Args:
        app: The routes.
        service: Judges.
    """

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app = app
        self._service = service
        self._log = get_logger("service")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_begun = False

        async def begun(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            await send(message)

        try:
            scope[ASKED] = await self._service.judged(scope, scope[REQUEST_ID])
            await self._app(scope, within(receive, self._service.limits), begun)
        except SendTimeoutError:
            raise AnswerCut(scope[REQUEST_ID]) from None
        except anyio.get_cancelled_exc_class():
            if not is_begun:  # the server ends, and has no more time for this answer; a later one may have
                with anyio.move_on_after(_PARTING, shield=True):
                    await ending().as_json()(scope, receive, send)
            raise
        except ClientDisconnect:  # in the middle of its body: nobody is left to be answered
            return
        except Exception as error:  # noqa: BLE001  # the one place that contains the failure of a route
            found = told(error)
            if found is None:
                self._log_failure(error, scope[REQUEST_ID])
                found = unexpected(scope[REQUEST_ID])
            if is_begun:  # all that can be told is that it is not complete
                raise AnswerCut(scope[REQUEST_ID]) from None
            answer = self._answer(Request(scope), error, found)
            await answer(scope, receive, send)

    def _log_failure(self, error: Exception, reference: str) -> None:
        serving = self._service.serving
        log = self._log if serving is None else get_logger("service", mask=serving.runner.mask)
        log.error("request failed", reference=reference, exc_info=error)

    def _answer(self, request: Request, error: Exception, found: Told) -> Response:
        """The answer: for browsers that open a page, a page."""
        pages = self._service.pages
        if pages is None or request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
            return found.as_json()
        from ._pages._errors import error_page  # noqa: PLC0415  # needs jinja2
        from ._pages._login import to_login  # noqa: PLC0415

        if isinstance(error, KeyRequired):
            return to_login(request)
        if ASKED not in request.scope:  # it was refused before anything was known of it
            request.scope[ASKED] = Asked(None, None, False, "", request.scope[REQUEST_ID], pages)
        return error_page(pages, request, found)
