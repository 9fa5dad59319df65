"""Being let in by OAuth, by the SDK: it finds the authorization server, and asks it for a token.

The SDK's own flow lets one request after the other wait for its headers, since it holds a lock meanwhile. Here it is
run only for a request that was refused; the others use the token that there is.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection
from typing import Any, Final

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from ._oauth import ClientCredentials

_ATTEMPTS: Final = 5  # of a request, while others get tokens that expire before it is made
_REFUSED: Final = (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN)


class KeptToken:
    """Keeps a token in memory.

    Attributes:
        tokens: All that there were in this connection: what was handed out is masked after it has expired, too.
    """

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self._current: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The token."""
        return self._current

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Another token."""
        self._current = tokens
        self.tokens += [token for token in (tokens.access_token, tokens.refresh_token) if token]

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Nothing: the client is known."""
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Nobody registers a client."""


class RenewingAuth(OAuthClientProvider, ABC):
    """Puts a token on each request, and has another one got when the server refuses what it was sent.

    Requests do not wait for each other: only one that was refused waits for a token.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._renewing = anyio.Lock()

    @property
    @abstractmethod
    def secrets(self) -> Collection[str]:
        """The tokens, also those that have expired."""

    @abstractmethod
    def _renewed(
        self, request: httpx2.Request, refused: httpx2.Response
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Get another token; it ends with the request."""

    async def _prepare(self) -> None:
        """Find a token that there is already."""

    def _is_refused(self, response: httpx2.Response) -> bool:
        """Whether another token may help."""
        return response.status_code in _REFUSED

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """See `httpx2.Auth.async_auth_flow`."""
        await self._prepare()
        own = None
        for _ in range(_ATTEMPTS):
            used = self._token()
            if used is not None:
                self._add_auth_header(request)
            response = yield request
            if not self._is_refused(response) or (own is not None and used == own):
                return
            async with self._renewing:
                if self._token() == used:  # nobody has got another one meanwhile
                    flow = self._renewed(request, response)
                    try:
                        outgoing = await anext(flow)
                        while outgoing is not request:
                            outgoing = await flow.asend((yield outgoing))
                    finally:
                        await flow.aclose()
                    own = self._token()
            if self._token() == used:
                return

    def _whole_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The SDK's own flow."""
        return super()._auth_flow(request)

    def _token(self) -> str | None:
        tokens = self.context.current_tokens
        return None if tokens is None else tokens.access_token


class CredentialsAuth(RenewingAuth, ClientCredentialsOAuthProvider):
    """Puts a token on each request, and gets one when the server refuses what it was sent.

    Args:
        url: The server.
        credentials: Those of the process.
    """

    def __init__(self, url: str, credentials: ClientCredentials) -> None:
        self.store = KeptToken()
        super().__init__(
            url,
            self.store,
            credentials.client_id,
            credentials.client_secret,
            credentials.method,
            credentials.scope,
            credentials.issuer,
        )
        self._scope = credentials.scope

    @property
    def secrets(self) -> Collection[str]:
        """The tokens."""
        return self.store.tokens

    async def _renewed(
        self, request: httpx2.Request, refused: httpx2.Response
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """The SDK's flow, which is told of the refusal instead of sending the request; it ends with the request."""
        flow = self._whole_flow(request)
        try:
            outgoing = await anext(flow)
            while outgoing is not request:  # it has a refresh token
                outgoing = await flow.asend((yield outgoing))
            outgoing = await flow.asend(refused)
            while outgoing is not request:
                outgoing = await flow.asend((yield outgoing))
        except StopAsyncIteration:
            pass
        finally:
            await flow.aclose()
        yield request

    async def _perform_authorization(self) -> httpx2.Request:
        """Ask for a token; the scope that was given counts more than what servers propose."""
        if self._scope is not None:
            self.context.client_metadata.scope = self._scope
        return await super()._perform_authorization()
