"""How a process is let in at HTTP servers by OAuth, as data."""

from dataclasses import field
from typing import Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from pydantic import SecretStr

from stagepost._dataclasses import dataclass

from ._token_store import TokenStore

TokenEndpointAuth: TypeAlias = Literal["client_secret_basic", "client_secret_post"]


@dataclass(frozen=True, init=False, slots=True)
class ClientCredentials:
    """Lets a process in at an MCP server as itself, by the client credentials grant of OAuth 2.1.

    The process gets a token from the server's authorization server when it is first refused, and another one whenever
    that has expired or is refused. Tokens are kept in memory only, and masked in what the server says.

    Attributes:
        client_id: What the authorization server calls the process.
        client_secret: Its secret.
        issuer: The authorization server, by the URL that its metadata names as ``issuer``. The secret is sent there and
            nowhere else, whatever the MCP server says.
        scope: What to ask for, separated by spaces; None for what the server wants.
        method: How the secret is sent: in the header (``client_secret_basic``), or in the body.

    Raises:
        ValueError: One of them cannot be.
    """

    client_id: str
    client_secret: str = field(repr=False)
    issuer: str
    scope: str | None
    method: TokenEndpointAuth

    def __init__(
        self,
        client_id: str,
        client_secret: str | SecretStr,
        *,
        issuer: str,
        scope: str | None = None,
        method: TokenEndpointAuth = "client_secret_basic",
    ) -> None:
        secret = client_secret.get_secret_value() if isinstance(client_secret, SecretStr) else client_secret
        given: tuple[tuple[str, object], ...] = (("client_id", client_id), ("client_secret", secret))
        for name, value in given:
            if not isinstance(value, str) or not value:
                raise ValueError(f"{name}= is to be the text that the authorization server knows this process by")
        if not str(issuer).startswith(("https://", "http://")):
            raise ValueError(
                f"issuer={issuer!r:.80}: give the URL of the authorization server, as its metadata names it"
            )
        if method not in get_args(TokenEndpointAuth):
            raise ValueError(f"method={method!r:.80}: give one of {', '.join(get_args(TokenEndpointAuth))}")
        object.__setattr__(self, "client_id", client_id)
        object.__setattr__(self, "client_secret", secret)
        object.__setattr__(self, "issuer", issuer)
        object.__setattr__(self, "scope", scope)
        object.__setattr__(self, "method", method)


@dataclass(frozen=True, init=False, slots=True)
class AuthorizationCode:
    """Lets a process in at an MCP server as a person has authorized it, by the authorization code grant of OAuth 2.1.

    When the server refuses a call, the run waits for a person who opens an address (`PendingQuestion.url`), and goes on
    once the person has consented. The service's routes (``stagepost.service.oauth_routes``) serve that address and the
    callback. Before anybody has consented, the server's tools are missing; the tool ``authorize_<server>``, which is
    always there, asks for access. There is one account for each server, by name, for all runs. Tokens are refreshed
    when the server refuses them, and masked in what the server says.

    One object may be given to several servers.

    Attributes:
        redirect_uri: Where authorization servers send the browser: the address of the service's ``/oauth/callback``.
        tokens: Keeps the tokens; the same that the routes are given.
        client_id: What the authorization server calls the process; None to register there, as most MCP servers allow.
        client_secret: Its secret, if it has one.
        issuer: The authorization server, by the URL that its metadata names as ``issuer``: no other is used. Needed
            with a `client_id`; None for the one that the server names.
        scope: What to ask for, separated by spaces; None for what the server wants.
        client_name: What people are told that asks for access.

    Raises:
        ValueError: One of them cannot be.
    """

    redirect_uri: str
    tokens: TokenStore = field(repr=False)
    client_id: str | None
    client_secret: str | None = field(repr=False)
    issuer: str | None
    scope: str | None
    client_name: str

    def __init__(
        self,
        redirect_uri: str,
        tokens: TokenStore,
        *,
        client_id: str | None = None,
        client_secret: str | SecretStr | None = None,
        issuer: str | None = None,
        scope: str | None = None,
        client_name: str = "stagepost",
    ) -> None:
        secret = client_secret.get_secret_value() if isinstance(client_secret, SecretStr) else client_secret
        _check_redirect(redirect_uri)
        if client_id is not None and issuer is None:
            raise ValueError("client_id= is known to one authorization server: name it by issuer=")
        if secret is not None and client_id is None:
            raise ValueError("client_secret= belongs to a client_id=: give both, or neither")
        if issuer is not None and not issuer.startswith(("https://", "http://")):
            raise ValueError(
                f"issuer={issuer!r:.80}: give the URL of the authorization server, as its metadata names it"
            )
        given = (redirect_uri, tokens, client_id, secret, issuer, scope, client_name)
        for name, value in zip(type(self).__slots__, given, strict=True):
            object.__setattr__(self, name, value)


def _check_redirect(redirect_uri: str) -> None:
    parts = urlsplit(redirect_uri)
    if parts.scheme != "https" and (parts.scheme != "http" or parts.hostname not in LOOPBACK):
        raise ValueError(f"redirect_uri={redirect_uri!r:.80}: begin it with https://, or with http://127.0.0.1")
    if not parts.path.endswith("/oauth/callback") or parts.query or parts.fragment:
        raise ValueError(
            f"redirect_uri={redirect_uri!r:.80}: end it with /oauth/callback, as the service has it, and nothing more"
        )


LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

HttpAuth: TypeAlias = ClientCredentials | AuthorizationCode
"""Ways to be let in."""
