"""A server as others write them, with the SDK: in memory, as a program, or behind HTTP.

``python _foreign.py stdio FOLDER``, ``python _foreign.py http FOLDER PORT``; ``legacy`` instead of ``http`` keeps
sessions, as servers did before the protocol of 2026.
"""

import json
import os
import socket
import sys
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

PAGE = 2
POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    "echo": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "hold": {"type": "object"},
    "pid": {"type": "object"},
    "refuse": {"type": "object"},
    "break": {"type": "object"},
    "die": {"type": "object"},
    "kinds.of-content": {"type": "object", "properties": {"at": {"$ref": "#/$defs/P"}}, "$defs": {"P": POINT}},
}
READS = types.ToolAnnotations(read_only_hint=True)
KINDS: list[types.ContentBlock] = [
    types.TextContent(text="text"),
    types.ImageContent(data="aGVsbG8=", mime_type="image/png"),
    types.AudioContent(data="aGVsbG8h", mime_type="audio/wav"),
    types.ResourceLink(name="report", uri="file:///report.txt"),
    types.EmbeddedResource(resource=types.TextResourceContents(uri="file:///a.txt", text="A", mime_type="text/plain")),
    types.EmbeddedResource(resource=types.BlobResourceContents(uri="file:///a.bin", blob="aGk=")),
]


def build(folder: Path) -> Server[Any]:
    """The server; what it is asked to hold, it notes in the folder."""

    async def list_tools(
        _context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        begin = int(params.cursor) if params is not None and params.cursor else 0
        names = list(SCHEMAS)[begin : begin + PAGE]
        return types.ListToolsResult(
            tools=[
                types.Tool(name=name, input_schema=SCHEMAS[name], annotations=READS if name == "echo" else None)
                for name in names
            ],
            next_cursor=str(begin + PAGE) if begin + PAGE < len(SCHEMAS) else None,
            ttl_ms=0,
            cache_scope="public",
        )

    async def call_tool(
        _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        match params.name, params.arguments or {}:
            case "echo", {"text": text}:
                return said(text)
            case "hold", {"name": name}:
                (folder / name).touch()
                await anyio.sleep_forever()
                raise AssertionError
            case "pid", _:
                return said(str(os.getpid()))
            case "die", _:
                os.kill(os.getpid(), 9)
                raise AssertionError
            case "refuse", _:
                return types.CallToolResult(content=[types.TextContent(text="out of paper")], is_error=True)
            case "kinds.of-content", _:
                return types.CallToolResult(content=KINDS, structured_content={"kinds": 6})
            case name, _:
                raise ValueError(name)

    return Server("foreign", on_list_tools=list_tools, on_call_tool=call_tool)


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


class Legacy:
    """Refuses what is new in the protocol, so that clients shake hands and get a session."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages = [] if scope["type"] != "http" or scope["method"] != "POST" else [await receive()]
        if messages and json.loads(messages[0]["body"]).get("method") == "server/discover":
            await JSONResponse({}, status_code=400)(scope, receive, send)
            return

        async def again() -> Any:
            return messages.pop() if messages else await receive()

        await self._app(scope, again, send)


class Locked:
    """Lets in who has the key in the address, and the password."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            told = dict(scope["headers"]).get(b"authorization", b"").removeprefix(b"Basic ")
            if scope["query_string"] != b"key=open-sesame-4711" or b64decode(told) != b"me:pass-word-0815":
                text = f"refused {scope['query_string'].decode()}"
                await JSONResponse({"error": text}, status_code=401)(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def serve_stdio(folder: Path) -> None:
    server = build(folder)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_http(folder: Path, port: int, kind: str) -> None:
    app: ASGIApp = build(folder).streamable_http_app()
    listening = socket.create_server(("127.0.0.1", port))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(_AROUND[kind](app), log_level="critical", lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])


_AROUND: dict[str, Callable[[ASGIApp], ASGIApp]] = {"http": lambda app: app, "legacy": Legacy, "locked": Locked}


if __name__ == "__main__":
    kind, place, *more = sys.argv[1:]
    if kind == "stdio":
        anyio.run(serve_stdio, Path(place))
    else:
        serve_http(Path(place), int(more[0]), kind)
