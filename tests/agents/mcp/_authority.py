"""An MCP server behind OAuth, and the authorization server that it names, both by the SDK, over real HTTP."""

import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from secrets import token_hex

import anyio
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


@dataclass
class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Gives tokens to whom a person lets in.

    Attributes:
        base: Its address, and that of the MCP server at ``/mcp``.
        consents: Whether the person consents.
        issuer: What it says that it is with a code; None for nothing.
        log: What was asked of it, and what the MCP server has done.
    """

    base: str = ""
    consents: bool = True
    issuer: str | None = None
    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    access: dict[str, AccessToken] = field(default_factory=dict)
    refreshing: dict[str, RefreshToken] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def expire(self) -> None:
        """Let no access token be good any more."""
        self.access.clear()

    def revoke(self) -> None:
        """Take back all that was authorized."""
        self.access.clear()
        self.refreshing.clear()

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.log.append(f"register {client_info.client_name} {client_info.redirect_uris}")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        back = str(params.redirect_uri)
        if not self.consents:
            return construct_redirect_uri(back, error="access_denied", state=params.state, iss=self.issuer)
        code = token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(back, code=code, state=params.state, iss=self.issuer)

    async def load_authorization_code(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002  # the handler compares it
        authorization_code: str,
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        self.log.append(f"exchange {authorization_code.resource}")
        return self._given(client.client_id, authorization_code.scopes)

    async def load_refresh_token(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002  # the handler compares it
        refresh_token: str,
    ) -> RefreshToken | None:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshing[refresh_token.token]
        self.log.append("refresh")
        return self._given(client.client_id, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Nobody asks for it."""

    def _given(self, client_id: str, scopes: list[str]) -> OAuthToken:
        access, refresh = f"access-{token_hex(16)}", f"refresh-{token_hex(16)}"
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes)
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=3600, scope=" ".join(scopes) or None)


@asynccontextmanager
async def serving(authority: Authority) -> AsyncIterator[Authority]:
    """The MCP server and its authorization server, in this process, at a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with _served(authority, listening):
            yield authority


@asynccontextmanager
async def _served(authority: Authority, listening: socket.socket) -> AsyncIterator[None]:
    authority.base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    settings = AuthSettings.model_validate(
        {
            "issuer_url": authority.base,
            "resource_server_url": f"{authority.base}/mcp",
            "client_registration_options": ClientRegistrationOptions(enabled=True, valid_scopes=["read"]),
            "required_scopes": ["read"],
            "validate_token_resource": False,
        }
    )
    vault = MCPServer("vault", auth_server_provider=authority, auth=settings)

    @vault.tool()
    def echo(text: str) -> str:
        """Say a text again."""
        authority.log.append(f"echo {text}")
        return text

    @vault.tool()
    def leak() -> str:
        """Say which tokens there are."""
        return " ".join(authority.access)

    server = uvicorn.Server(uvicorn.Config(vault.streamable_http_app(), log_level="critical", lifespan="on"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listening])
        try:
            yield
        finally:
            server.should_exit = True
