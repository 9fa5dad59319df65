"""How a process is let in at HTTP servers by OAuth, as data."""

from dataclasses import field
from typing import Literal, TypeAlias, get_args

from pydantic import SecretStr

from stagepost._dataclasses import dataclass

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


HttpAuth: TypeAlias = ClientCredentials
"""Ways to be let in; those in which a person takes part are to be added here."""
