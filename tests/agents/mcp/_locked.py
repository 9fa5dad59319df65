"""The server of `_foreign` behind OAuth: tokens by client credentials, each good for some requests.

``python _locked.py FOLDER USES``; an authorization server is at the same port, at ``/auth``. What happens is noted in
``FOLDER/log``; while ``FOLDER/closed`` is there, no token is given.
"""

import base64
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.agents.mcp._foreign import build

CLIENT: Final = "clerk-17"
SECRET: Final = "open-sesame+4711/%"  # noqa: S105  # of a server for tests
TOKEN: Final = "tok-abcdefghijklmnop"  # noqa: S105  # of a server for tests; with a number after it


class Tokens:
    """Those that were given, each with how often it may still be used."""

    def __init__(self, folder: Path, uses: int) -> None:
        self.folder = folder
        self.uses = uses
        self.left: dict[str, int] = {}

    def log(self, line: str) -> None:
        with (self.folder / "log").open("a") as file:
            file.write(f"{line}\n")

    def give(self) -> str:
        token = f"{TOKEN}-{len(self.left)}"
        self.left[token] = self.uses
        return token

    def use(self, token: str) -> bool:
        left = self.left.get(token, 0)
        if left:
            self.left[token] = left - 1
        return left > 0


class Locked:
    """Lets in who has a token that is still good."""

    def __init__(self, app: ASGIApp, tokens: Tokens, base: str) -> None:
        self._app = app
        self._tokens = tokens
        self._base = base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            told = dict(scope["headers"]).get(b"authorization", b"").decode()
            if not self._tokens.use(told.removeprefix("Bearer ")):
                self._tokens.log("refuses" if told else "wants a token")
                metadata = f"{self._base}/.well-known/oauth-protected-resource/mcp"
                headers = {"WWW-Authenticate": f'Bearer resource_metadata="{metadata}"'}
                await JSONResponse({"error": "invalid_token"}, 401, headers)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def main(folder: Path, uses: int) -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    tokens = Tokens(folder, uses)
    inner = build(folder).streamable_http_app()

    async def resource(_request: Request) -> Response:
        return JSONResponse({"resource": f"{base}/mcp", "authorization_servers": [f"{base}/auth"]})

    async def metadata(_request: Request) -> Response:
        endpoints = {"authorization_endpoint": f"{base}/auth/authorize", "token_endpoint": f"{base}/auth/token"}
        return JSONResponse({"issuer": f"{base}/auth", **endpoints, "response_types_supported": ["code"]})

    async def token(request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        told = request.headers.get("authorization", "").removeprefix("Basic ")
        name, _, secret = base64.b64decode(told).decode().partition(":")
        client = (unquote(name) or form.get("client_id"), unquote(secret) or form.get("client_secret"))
        how = "body" if "client_secret" in form else "header"
        tokens.log(
            f"token by {how} for {form.get('grant_type')} {form.get('scope')} {form.get('resource') == f'{base}/mcp'}"
        )
        if client != (CLIENT, SECRET) or (folder / "closed").exists():
            return JSONResponse({"error": "invalid_client"}, 401)
        return JSONResponse({"access_token": tokens.give(), "token_type": "Bearer", "expires_in": 3600})

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            yield

    app = Starlette(
        routes=[
            Route("/.well-known/oauth-protected-resource/mcp", resource),
            Route("/.well-known/oauth-authorization-server/auth", metadata),
            Route("/auth/token", token, methods=["POST"]),
            Mount("/", Locked(inner, tokens, base)),
        ],
        lifespan=lifespan,
    )
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on")).run(sockets=[listening])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
