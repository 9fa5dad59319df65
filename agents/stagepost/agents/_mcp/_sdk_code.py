"""The authorization code flow by the SDK, which finds the authorization server, registers, and refreshes tokens.

The SDK's own flow waits in one function for the person. Here it is cut in two: what the first part has found out is
kept, and the second part goes on with that, in this process or another one.
"""

import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import urlencode, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import issuers_match, validate_authorization_response_iss
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
)
from pydantic import AnyUrl, ValidationError

from ..errors import AuthorizationFailed
from ._grants import AGAIN, Attempt, Ticket
from ._sdk_known import KeptClient, metadata_of, plain, restore
from ._sdk_tls import known_certificates

_PATIENCE: Final = 15.0  # seconds for each request to an authorization server
_LARGEST: Final = 1_000_000  # bytes of an answer
_WANTED: Final = httpx2.Request("POST", "http://wanted.invalid")  # stands for the request for tokens in the first part


class Outgoing(NamedTuple):
    """An attempt that can begin.

    Attributes:
        url: Where the browser goes.
        verifier: The code verifier of PKCE.
        known: What was found out, for the second part.
        client: The registered client, as JSON.
    """

    url: str
    verifier: str
    known: dict[str, Any]
    client: str


class Flow:
    """The two parts of the flow."""

    @staticmethod
    async def begin(ticket: Ticket, state: str, client: str | None) -> Outgoing:
        """Find the authorization server of a ticket, and register there if nobody has.

        Raises:
            AuthorizationFailed: That is not possible.
        """
        provider = _Provider(ticket, client)
        refused = httpx2.Response(
            ticket.status, headers={"WWW-Authenticate": ticket.challenge} if ticket.challenge else {}
        )
        try:
            async with _requests() as send:
                await provider.discover(refused, send)
            return provider.outgoing(ticket, state)
        except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
            _fail(ticket, error)

    @staticmethod
    def check_issuer(attempt: Attempt, issuer: str | None) -> None:
        """See that a callback comes from the authorization server that the browser was sent to.

        Raises:
            AuthorizationFailed: It does not.
        """
        try:
            validate_authorization_response_iss(issuer, OAuthMetadata.model_validate(attempt.known["server"]))
        except OAuthFlowError:
            raise AuthorizationFailed(
                f"another authorization server has answered than the one that was asked: {AGAIN}"
            ) from None

    @staticmethod
    async def exchange(attempt: Attempt, code: str) -> dict[str, Any]:
        """The tokens for a code.

        Raises:
            AuthorizationFailed: There are none.
        """
        provider = _Provider(attempt.ticket, None)
        provider.restore(attempt.known)
        try:
            async with _requests() as send:
                return await provider.exchanged(code, attempt.verifier, send)
        except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
            _fail(attempt.ticket, error)


class _Provider(OAuthClientProvider):
    """The SDK's flow, up to what the person has to do, and from there on.

    Args:
        ticket: What is to be authorized.
        client: The client that is registered, as JSON; None if none is.
    """

    def __init__(self, ticket: Ticket, client: str | None) -> None:
        self._kept = KeptClient(_client(ticket, client))
        super().__init__(ticket.url, metadata_of(ticket.redirect_uri, ticket.client_name), self._kept)
        self._ticket = ticket

    async def discover(self, refused: httpx2.Response, send: "Send") -> None:
        """Find the authorization server, and register."""
        request = httpx2.Request("POST", self.context.server_url)
        refused.request = request
        flow = self._auth_flow(request)
        try:
            outgoing = await anext(flow)
            response = refused
            while True:
                outgoing = await flow.asend(response)
                if outgoing is _WANTED:
                    return
                response = await send(outgoing)
        finally:
            await flow.aclose()

    async def _perform_authorization(self) -> httpx2.Request:
        """Stop here: all is known that the person's browser needs."""
        if self._ticket.scope is not None:
            self.context.client_metadata.scope = self._ticket.scope
        return _WANTED

    def _select_authorization_server(self, advertised: list[str]) -> str:
        """The one that was given, if the server names it, or else the first one."""
        issuer = self._ticket.issuer
        if issuer is None:
            return super()._select_authorization_server(advertised)
        found = next((each for each in advertised if issuers_match(each, issuer)), None)
        if found is None:
            raise OAuthFlowError(f"the server names {', '.join(advertised)}, and issuer= is {issuer}")
        return found

    def outgoing(self, ticket: Ticket, state: str) -> Outgoing:
        """Where the browser goes, and what has to be kept."""
        context = self.context
        server, client = context.oauth_metadata, context.client_info
        if server is None or client is None:
            raise OAuthFlowError("the authorization server publishes no metadata")
        if ticket.issuer is not None and not issuers_match(str(server.issuer), ticket.issuer):
            raise OAuthFlowError(f"the server leads to {server.issuer}, and issuer= is {ticket.issuer}")
        if "S256" not in (server.code_challenge_methods_supported or ()):
            raise OAuthFlowError("the authorization server does not support PKCE with S256")
        _check_scheme(ticket.url, str(server.authorization_endpoint), str(server.token_endpoint))
        verifier = secrets.token_urlsafe(64)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": ticket.redirect_uri,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": context.get_resource_url(),
        }
        if context.client_metadata.scope:
            asked["scope"] = context.client_metadata.scope
            if "offline_access" in context.client_metadata.scope.split():
                asked["prompt"] = "consent"  # OpenID Connect wants it for refresh tokens
        endpoint = str(server.authorization_endpoint)
        url = f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"
        return Outgoing(url, verifier, self._known(), client.model_dump_json(exclude_none=True))

    def restore(self, known: Mapping[str, Any]) -> None:
        """Go on with what was found out."""
        restore(self, known)

    async def exchanged(self, code: str, verifier: str, send: "Send") -> dict[str, Any]:
        """The tokens for a code."""
        response = await send(await self._exchange_token_authorization_code(code, verifier))
        await self._handle_token_response(response)
        tokens = self.context.current_tokens
        return {} if tokens is None else plain(tokens)

    def _known(self) -> dict[str, Any]:
        context = self.context
        found = {
            "server": context.oauth_metadata,
            "resource": context.protected_resource_metadata,
            "client": context.client_info,
        }
        kept = {name: None if it is None else plain(it) for name, it in found.items()}
        return {**kept, "scope": context.client_metadata.scope}


def _client(ticket: Ticket, registered: str | None) -> OAuthClientInformationFull | None:
    if ticket.client_id is not None:
        return OAuthClientInformationFull(
            client_id=ticket.client_id,
            client_secret=ticket.client_secret,
            token_endpoint_auth_method="none"
            if ticket.client_secret is None
            else "client_secret_basic",  # names of methods
            redirect_uris=[AnyUrl(ticket.redirect_uri)],
        )
    return None if registered is None else OAuthClientInformationFull.model_validate_json(registered)


def _check_scheme(server: str, *endpoints: str) -> None:
    """See that nothing of a server behind https goes over http."""
    if server.startswith("https://") and any(not endpoint.startswith("https://") for endpoint in endpoints):
        raise OAuthFlowError("the authorization server has an address that is not https")


def _fail(ticket: Ticket, error: Exception) -> NoReturn:
    """Say what went wrong without what a server has said: that may quote what is secret."""
    why = str(error) if type(error) is OAuthFlowError else type(error).__name__
    raise AuthorizationFailed(
        f"{ticket.server} cannot be authorized ({why}): {AGAIN}, or check auth= of the server"
    ) from None


class Send:
    """Sends requests of the flow, each with little time and to nobody but whom it is for."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._client.send(request, stream=True)
        try:
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > _LARGEST:
                    raise OAuthFlowError("an authorization server has answered too much")
        finally:
            await response.aclose()
        headers = [
            (name, value) for name, value in response.headers.multi_items() if name.lower() != "content-encoding"
        ]
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)


@asynccontextmanager
async def _requests() -> AsyncIterator[Send]:
    async with httpx2.AsyncClient(verify=known_certificates(), timeout=_PATIENCE, follow_redirects=False) as client:
        yield Send(client)
