"""Routes by which people authorize this service at MCP servers: where they begin, and where they come back."""

from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from stagepost.agents import AuthorizationEnded, Authorizations, Refuse, TokenStore
from stagepost.checkpoint import AlreadyAnswered, WaitNotFound

from .._keys._key import Scope
from ._flash import Flashes
from ._serving import asked, caller, serving

_START: Final = "/oauth/start/"
_LIFE: Final = 600  # seconds that a browser keeps what it brings back
_LONGEST: Final = 4_000  # of a parameter
_TAKEN: Final = ("state", "code", "iss", "error")
_GIVEN: Final = "Access is given"
_REFUSED: Final = "Access is not given"
_NOTES: Final = {
    _GIVEN: "The work goes on by itself. You can close this page.",
    _REFUSED: "Whoever asked for it is told so. You can close this page.",
}
_NOTHING: Final = (
    "Nothing was decided here",
    "This page says once what has come of a decision. Ask whoever sent you here.",
)


def oauth_routes(tokens: TokenStore) -> list[Route]:
    """The routes that `AuthorizationCode` needs, for ``create_app(routes=…)``.

    ``GET /oauth/start/{ticket}`` is the address in a question: it leads callers who may decide to the authorization
    server. ``GET /oauth/callback`` takes what that server says, keeps the tokens, and answers the question, so that the
    run goes on. The latter asks for no key: it believes only the browser in which the former was opened.

    Args:
        tokens: The same that the `AuthorizationCode` has.
    """
    routes = _Routes(Authorizations(tokens))
    return [
        Route(f"{_START}{{ticket}}", routes.start, methods=["GET"]),
        Route("/oauth/callback", routes.callback, methods=["GET"]),
        Route("/oauth/given", routes.ended, methods=["GET"]),
        Route("/oauth/refused", routes.ended, methods=["GET"]),
    ]


class _Routes:
    def __init__(self, authorizations: Authorizations) -> None:
        self._authorizations = authorizations
        self._flashes = Flashes()

    async def start(self, request: Request) -> Response:
        """Lead a browser to the authorization server."""
        who = caller(request, Scope.DECIDE)
        ticket_id = request.path_params["ticket"]
        begun = await self._authorizations.begin(ticket_id, by=who.name)
        if begun.url is None:
            return await self._ended(request, AuthorizationEnded(ticket_id, "", "granted", who.name))
        answer = _onward(request, begun.server, begun.url)
        answer.set_cookie(
            _cookie(begun.state, is_secure=begun.is_secure),
            begun.browser,
            max_age=_LIFE,
            path="/",
            secure=begun.is_secure,
            httponly=True,
            samesite="lax",  # the browser comes back from another site
        )
        return answer

    async def callback(self, request: Request) -> Response:
        """Take what an authorization server says of one attempt."""
        said = {name: request.query_params.get(name, "")[:_LONGEST] for name in _TAKEN if name in request.query_params}
        names = [_cookie(said.get("state", ""), is_secure=is_secure) for is_secure in (True, False)]
        browser = next((request.cookies[name] for name in names if name in request.cookies), "")
        answer = await self._ended(request, await self._authorizations.finish(said, browser))
        for name in names:
            if name in request.cookies:
                answer.delete_cookie(name, path="/", secure=name == names[0], httponly=True, samesite="lax")
        return answer

    async def ended(self, request: Request) -> Response:
        """Say what came of it to whoever was led here, once; a link alone makes nobody believe it."""
        said = self._flashes.said(request)
        answer = _note(request, said, _NOTES[said]) if said in _NOTES else _note(request, *_NOTHING)
        self._flashes.forget(request, answer)
        return answer

    async def _ended(self, request: Request, ended: AuthorizationEnded) -> Response:
        """Answer the questions that this answers, and lead the browser away from an address that has a code in it."""
        tasks = serving(request).tasks
        for question in await tasks.questions():
            ticket_id = (question.url or "").rpartition(_START)[2]
            if ticket_id and await self._is_meant(ticket_id, ended):
                answer = None if ended.outcome == "granted" else Refuse("The person has not given access.")
                with suppress(AlreadyAnswered, WaitNotFound):
                    await tasks.answer(question.id, answer, by=ended.by)
        root = str(request.scope.get("root_path", "")).rstrip("/")
        page, said = ("given", _GIVEN) if ended.outcome == "granted" else ("refused", _REFUSED)
        return self._flashes.lead(request, f"{root}/oauth/{page}", said)

    async def _is_meant(self, ticket_id: str, ended: AuthorizationEnded) -> bool:
        if ticket_id == ended.ticket_id:
            return True
        return ended.outcome == "granted" and await self._authorizations.is_answered(ticket_id)


def _cookie(state: str, *, is_secure: bool) -> str:
    """The name of what a browser keeps of one attempt; the secure one can be set by no subdomain."""
    return f"{'__Host-' if is_secure else ''}stagepost-oauth-{sha256(state.encode()).hexdigest()[:16]}"


def _onward(request: Request, server: str, url: str) -> Response:
    """To an authorization server: by a link for people, who see where it leads.

    A redirect would not do for them: the page before may be the one to log in, whose form may lead to no other site.
    """
    if asked(request).pages is None or "text/html" not in request.headers.get("accept", ""):
        return RedirectResponse(url, HTTPStatus.SEE_OTHER)
    from ._pages._pages import page  # noqa: PLC0415  # needs jinja2

    return page(request, "stagepost/authorize.html", server=server, host=urlsplit(url).netloc, target=url)


def _note(request: Request, heading: str, text: str) -> Response:
    if asked(request).pages is None:
        return PlainTextResponse(f"{heading}. {text}\n")
    from ._pages._pages import page  # noqa: PLC0415  # needs jinja2

    return page(request, "stagepost/note.html", heading=heading, text=text)
