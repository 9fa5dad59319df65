"""What a page says of an act right after it: said once, by a cookie that the act has left and nobody else can make."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from secrets import token_bytes
from time import time
from typing import Final
from urllib.parse import unquote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

_LIFE: Final = 60  # seconds: the browser comes at once
_PARTS: Final = 3


class Flashes:
    """Leads a browser from an act to a page that says what was done.

    A link could have a parameter, and would make a page say what nobody has done. The cookie is signed and bound to the
    page, and the answer that says it takes it back.

    Args:
        secret: Signs cookies; by default a random one.
        clock: Seconds since 1970.
    """

    def __init__(self, secret: bytes | None = None, clock: Callable[[], float] = time) -> None:
        self._secret = secret or token_bytes(32)
        self._clock = clock

    def lead(self, request: Request, address: str, said: str) -> Response:
        """To a page of this application, which says something once.

        Args:
            request: The one by which something was done.
            address: The path of the page, quoted, and what follows it.
            said: What was done.
        """
        path, expires = unquote(urlsplit(address).path), int(self._clock()) + _LIFE
        answer = RedirectResponse(address, HTTPStatus.SEE_OTHER)
        answer.set_cookie(
            _name(path),
            f"{_encoded(said)}.{expires}.{self._signature(path, expires, said)}",
            max_age=_LIFE,
            path=_root(request),
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="lax",  # an authorization server may have sent the browser
        )
        return answer

    def said(self, request: Request) -> str:
        """What the page that is asked for is to say; empty if nothing was done that leads to it."""
        path = _path(request)
        parts = request.cookies.get(_name(path), "").split(".")
        if len(parts) != _PARTS or not parts[1].isdecimal():
            return ""
        said, expires = _decoded(parts[0]), int(parts[1])
        is_ours = hmac.compare_digest(parts[2].encode(), self._signature(path, expires, said).encode())
        return said if is_ours and expires > self._clock() else ""

    def forget(self, request: Request, answer: Response) -> None:
        """Have it said no more."""
        name = _name(_path(request))
        if name in request.cookies:
            answer.delete_cookie(name, path=_root(request), httponly=True, samesite="lax")

    def _signature(self, path: str, expires: int, said: str) -> str:
        return hmac.new(self._secret, f"{path}\n{expires}\n{said}".encode(), sha256).hexdigest()


def _name(path: str) -> str:
    """One for each page, so that acts in two windows do not meet."""
    return f"stagepost-did-{sha256(path.encode()).hexdigest()[:16]}"


def _path(request: Request) -> str:
    return unquote(request.url.path)


def _root(request: Request) -> str:
    return str(request.scope.get("root_path", "")).rstrip("/") or "/"


def _encoded(said: str) -> str:
    return urlsafe_b64encode(said.encode()).decode().rstrip("=")


def _decoded(text: str) -> str:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        return ""
