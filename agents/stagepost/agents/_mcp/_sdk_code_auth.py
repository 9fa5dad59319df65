"""The tokens that a person has authorized, on each request to a server."""

import time
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

import anyio
import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import OAuthToken

from ._grants import Account, Grant, grant_for, keep_grant
from ._remote import Refusal
from ._sdk_known import KeptClient, metadata_of, plain, restore
from ._sdk_oauth import RenewingAuth

if TYPE_CHECKING:
    from ._oauth import AuthorizationCode


class AuthorizationNeeded(OAuthFlowError):
    """A person has to let the process in.

    Attributes:
        refusal: What the server said.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__("a person has to authorize it")
        self.refusal = refusal


class CodeAuth(RenewingAuth):
    """Puts the tokens on each request that a person has authorized, and refreshes them.

    Args:
        server: Name of the server.
        url: Its address, without keys.
        auth: Where the tokens are.
    """

    def __init__(self, server: str, url: str, auth: "AuthorizationCode") -> None:
        super().__init__(url, metadata_of(auth.redirect_uri, auth.client_name), KeptClient(None))
        self._auth = auth
        self._account = Account(server, url, auth.client_id)
        self._grant: Grant | None = None
        self._seen: list[str] = []

    @property
    def secrets(self) -> Sequence[str]:
        """All tokens that there were in this connection."""
        return self._seen

    async def _prepare(self) -> None:
        if self._grant is None:
            await self._load()

    def _is_refused(self, response: httpx2.Response) -> bool:
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            return True
        return response.status_code == httpx2.codes.FORBIDDEN and _wants_more(response)

    async def _renewed(
        self, request: httpx2.Request, refused: httpx2.Response
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Use the tokens that have come meanwhile, or refresh those that there are, or ask for a person."""
        used = self._token()
        await self._load()
        if self._token() == used:
            if not _wants_more(refused) and self.context.can_refresh_token():
                response = yield await self._refresh_token()
                await self._refreshed(response)
                if self._token() is None:  # refused: another process may have used the refresh token before
                    await self._load()
            if self._token() in (used, None):
                challenge = ", ".join(refused.headers.get_list("WWW-Authenticate"))
                raise AuthorizationNeeded(Refusal(status=refused.status_code, challenge=challenge))
        yield request

    async def _refreshed(self, response: httpx2.Response) -> None:
        """Keep what a refresh has brought; one that fails for now loses nothing."""
        if response.is_server_error or response.status_code == httpx2.codes.TOO_MANY_REQUESTS:
            raise OAuthFlowError(f"the authorization server answers {response.status_code} to a refresh")
        if await self._handle_refresh_response(response) and self.context.current_tokens is not None:
            tokens = plain(self.context.current_tokens)
            known = {} if self._grant is None else self._grant.known
            grant = Grant(tokens=tokens, known=known, granted_at=time.time())
            with anyio.CancelScope(shield=True):  # the old refresh token may be void by now
                await self._use(grant)
                await keep_grant(self._auth.tokens, self._account, grant)

    async def _load(self) -> None:
        found = await grant_for(self._auth.tokens, self._account)
        if found is not None and found != self._grant:
            await self._use(found)

    async def _use(self, grant: Grant) -> None:
        self._grant = grant
        restore(self, grant.known)
        self.context.current_tokens = tokens = OAuthToken.model_validate(grant.tokens)
        self._seen += [
            token for token in (tokens.access_token, tokens.refresh_token) if token and token not in self._seen
        ]


def _wants_more(response: httpx2.Response) -> bool:
    return extract_field_from_www_auth(response, "error") == "insufficient_scope"
