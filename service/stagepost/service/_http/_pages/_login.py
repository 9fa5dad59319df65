"""Logging in to pages with a key, and out again."""

import re
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..._keys._key import Key
from ..._keys._keyring import Keyring
from ..._keys._logins import Logins
from ...errors import InvalidBody, TooManyRequests
from .._identity import COOKIE, login_in
from .._rates import Rates
from .._refusing import is_strange
from .._serving import asked
from ._pages import Pages, root_of

_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")
_LONGEST: Final = 2_000
_FORM: Final = "application/x-www-form-urlencoded"


class LoginPages:
    """The pages to log in and out.

    Args:
        keys: The keys of the service.
        logins: Makes logins.
        rates: Counts keys that were wrong.
        pages: Makes pages.
    """

    def __init__(self, keys: Keyring, logins: Logins, rates: Rates, pages: Pages) -> None:
        self._keys = keys
        self._logins = logins
        self._rates = rates
        self._pages = pages

    def routes(self) -> list[Route]:
        """Their routes."""
        return [
            Route("/login", self.show, methods=["GET"]),
            Route("/login", self.log_in, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """Ask for a key; whoever has given it already is sent on."""
        target = destination(request, request.query_params.get("next"))
        if asked(request).caller is not None:
            return RedirectResponse(target, HTTPStatus.SEE_OTHER)
        return self._pages.render(request, "stagepost/login.html", target=target, problem=None)

    async def log_in(self, request: Request) -> Response:
        """Begin a login."""
        form = await _form(request)
        target = destination(request, form.get("next"))
        try:
            key = await self._key(form.get("key", "").strip(), asked(request).address)
        except TooManyRequests as error:
            answer = self._refused(request, target, HTTPStatus.TOO_MANY_REQUESTS, str(error))
            answer.headers["Retry-After"] = str(error.retry_after)
            return answer
        if key is None:
            return self._refused(request, target, HTTPStatus.UNAUTHORIZED, "This key is not known here.")
        answer = RedirectResponse(target, HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            COOKIE,
            self._logins.begin(key),
            max_age=int(self._logins.lifetime),
            path=root_of(request) or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    async def log_out(self, request: Request) -> Response:
        """End a login."""
        login = login_in(request.headers)
        if login is not None:
            self._logins.end(login)
        root = root_of(request)
        answer = RedirectResponse(f"{root}/login", HTTPStatus.SEE_OTHER)
        answer.delete_cookie(COOKIE, path=root or "/", httponly=True, samesite="strict")
        return answer

    async def _key(self, secret: str, address: str) -> Key | None:
        # People choose and mistype; so here, once an address has been wrong too often, nothing is looked at any more.
        await self._rates.check_failures(address)
        key = self._keys.find(secret)
        if key is None:
            await self._rates.failed(address)
        return key

    def _refused(self, request: Request, target: str, status: HTTPStatus, problem: str) -> Response:
        return self._pages.render(request, "stagepost/login.html", status=status, target=target, problem=problem)


def destination(request: HTTPConnection, wanted: str | None) -> str:
    """Where to go after a login: a path of this application, whatever was asked for."""
    root = root_of(request)
    home = f"{root}/"
    if wanted is None or len(wanted) > _LONGEST or not _PATH.fullmatch(wanted):
        return home
    path = urlsplit(wanted).path
    is_ours = (path == root or path.startswith(home)) and not is_strange(unquote(path))
    return wanted if is_ours and not path.startswith((f"{root}/login", f"{root}/logout")) else home


def to_login(request: HTTPConnection) -> Response:
    """Send a browser to the page where it can log in, and from there back to where it wanted to go."""
    query = f"?{request.url.query}" if request.url.query else ""
    wanted = quote(f"{quote(request.scope['path'], safe='/')}{query}", safe="/")
    return RedirectResponse(f"{root_of(request)}/login?next={wanted}", HTTPStatus.SEE_OTHER)


async def _form(request: Request) -> dict[str, str]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise InvalidBody(f"Send the form as {_FORM}")
    try:
        fields = parse_qs((await request.body()).decode(), max_num_fields=8)
    except ValueError:
        raise InvalidBody("The form cannot be read") from None
    return {name: values[0] for name, values in fields.items()}
