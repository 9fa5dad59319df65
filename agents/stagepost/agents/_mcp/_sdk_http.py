"""The HTTP client of a connection: keys stay out of logs, and what becomes of one request concerns no other."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import httpx2
from mcp.client.auth import OAuthFlowError

from .._models._addresses import bare_address, shown_address
from ._oauth import AuthorizationCode, HttpAuth
from ._remote import Refusal
from ._sdk_tls import known_certificates
from ._server import Http

if TYPE_CHECKING:
    from ._sdk_oauth import RenewingAuth

_SESSION: Final = "mcp-session-id"
_NOT_LET_IN: Final = (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN)


class Fate:
    """What a transport knows of one call.

    Attributes:
        refused: The call has certainly not been made: nobody listened, or the server did not know the session, as after
            a restart.
        denied: Why the server did not let the process in; empty if it did.
        refusal: What it said, if a person can let the process in.
    """

    def __init__(self) -> None:
        self.refused = False
        self.denied = ""
        self.refusal: Refusal | None = None


FATE: Final[ContextVar[Fate | None]] = ContextVar(
    "stagepost_mcp_fate", default=None
)  # the SDK sends in the caller's context


class _ShownUrl(httpx2.URL):
    """An address that is used as it is, and shown in logs and errors without what is secret."""

    def __str__(self) -> str:
        return shown_address(super().__str__())


class HttpClient(httpx2.AsyncClient):
    """Keeps the keys in an address to itself: the SDK, which logs and quotes it, knows only the `bare_address`.

    Notes which calls are refused: the SDK tells of all that fail in one way.

    Args:
        http: The server.
        name: Its name.
        **options: Those of the client.

    Attributes:
        is_open: Whether the connection has come about. Before, an error ends the attempt; after, only its request.
    """

    def __init__(self, http: Http, name: str, **options: Any) -> None:
        self._credentials = None if http.auth is None else _credentials(name, http.url, http.auth)
        super().__init__(verify=known_certificates(), headers=dict(http.headers), auth=self._credentials, **options)
        self._shown = httpx2.URL(bare_address(http.url))
        self._url = _ShownUrl(http.url)
        self.is_open = False

    def tokens(self) -> tuple[str, ...]:
        """What nobody may see of what it was given."""
        return () if self._credentials is None else tuple(self._credentials.secrets)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; see the class."""
        if request.url == self._shown:
            request.url = self._url
        try:
            response = await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            _note(refused=True)
            raise
        except OAuthFlowError as error:
            if not self.is_open:
                raise
            _note(denied=denied(error), refusal=refusal_of(error))
            return httpx2.Response(httpx2.codes.UNAUTHORIZED, request=request)
        if response.status_code in _NOT_LET_IN:
            _note(denied=f"it answers {response.status_code}: check auth= or headers=")
        if response.status_code == httpx2.codes.NOT_FOUND and _SESSION in request.headers:
            _note(refused=True)
        return response


def _credentials(name: str, url: str, auth: HttpAuth) -> "RenewingAuth":
    if isinstance(auth, AuthorizationCode):
        from ._sdk_code_auth import CodeAuth  # noqa: PLC0415  # few need it

        return CodeAuth(name, bare_address(url), auth)
    from ._sdk_oauth import CredentialsAuth  # noqa: PLC0415  # brings a library for signatures, which few need

    return CredentialsAuth(bare_address(url), auth)


def refusal_of(error: BaseException) -> Refusal | None:
    """What a server has said that wants a person to let this process in; None for other errors."""
    found = getattr(error, "refusal", None)
    return found if isinstance(found, Refusal) else None


def denied(error: OAuthFlowError) -> str:
    """Why there is no token, and what to do about it."""
    return f"there is no token for it ({error}): check client_id, client_secret, scope and issuer of auth="


def _note(*, refused: bool = False, denied: str = "", refusal: Refusal | None = None) -> None:
    fate = FATE.get()
    if fate is not None:
        fate.refused, fate.denied = fate.refused or refused, fate.denied or denied
        fate.refusal = fate.refusal or refusal
