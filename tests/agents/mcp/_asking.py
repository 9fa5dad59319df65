"""A server whose tools ask people in the middle of a call, in the protocols of 2025 and of 2026.

``python _asking.py stdio|http old|new FOLDER [PORT]``; what it does is noted in ``FOLDER/log``, line by line.
"""

import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import METHOD_NOT_FOUND, ErrorData, JSONRPCError, JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import ASGIApp
from tests.agents.mcp._foreign import Legacy

SEATS = {
    "type": "object",
    "properties": {
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "class": {"type": "string", "enum": ["first", "second"]},
    },
    "required": ["seats"],
}
SURE = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ODD: dict[str, dict[str, Any]] = {
    "deep": {"type": "object", "properties": {"deep": {"type": "object"}}, "required": ["deep"]},
    "nonsense": {"type": "object", "properties": {"x": {"type": "nonsense"}}},
    "no object": {"type": "string"},
    "no such reference": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Nowhere"}}, "required": 7},
}
READS = types.ToolAnnotations(read_only_hint=True)
PLACE = "https://example.com/consent"


class _Needed(Exception):
    """A client of the new protocol has to answer first."""

    def __init__(self, requests: dict[str, types.InputRequest], state: str | None) -> None:
        self.requests = requests
        self.state = state


class Desk:
    """One call, and what it asks."""

    def __init__(self, folder: Path, context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> None:
        self.folder = folder
        self.context = context
        self.params = params
        self.is_new = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        self.state = params.request_state or ""

    def log(self, line: str) -> None:
        with (self.folder / "log").open("a") as file:
            file.write(f"{line}\n")

    async def ask(self, key: str, message: str, schema: dict[str, Any]) -> types.ElicitResult:
        """What somebody says; in the new protocol, the call is made again for it."""
        if not self.is_new:
            self.log(f"asks {key}")
            return await self.context.session.elicit_form(message, schema, self.context.request_id)
        said = (self.params.input_responses or {}).get(key)
        if isinstance(said, types.ElicitResult):
            self.state = f"{self.state}{key}={said.action}:{json.dumps(said.content)};"
            return said
        if f"{key}=" in self.state:  # was said in an earlier round
            action, _, content = self.state.partition(f"{key}=")[2].partition(";")[0].partition(":")
            return types.ElicitResult(action=action, content=json.loads(content))  # type: ignore[arg-type]  # one of them
        self.log(f"asks {key}")
        raise _Needed({key: request(message, schema)}, self.state)


def request(message: str, schema: dict[str, Any]) -> types.ElicitRequest:
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


async def seats(desk: Desk, city: str) -> str:
    return told(city, await desk.ask("seats", f"How many seats to {city}?", SEATS))


async def twice(desk: Desk, city: str) -> str:
    wanted = await desk.ask("seats", f"How many seats to {city}?", SEATS)
    sure = await desk.ask("sure", f"{told(city, wanted)}: sure?", SURE)
    return f"{told(city, wanted)}, {told('sure', sure)}"


async def pair(desk: Desk, _city: str) -> str:
    said = desk.params.input_responses or {}
    if not said:
        raise _Needed({"a": request("A?", SURE), "b": request("B?", SEATS)}, "pair")
    found = {key: each.content for key, each in said.items() if isinstance(each, types.ElicitResult)}
    return f"{desk.params.request_state} {json.dumps(found)}"


async def pay(desk: Desk, _city: str) -> str:
    if not (desk.folder / "paid").exists():
        (desk.folder / "paid").touch()
        place = types.ElicitRequestURLParams(message="Consent first.", url=PLACE, elicitation_id="pay-1")
        raise UrlElicitationRequiredError([place])
    return "paid"


async def odd(desk: Desk, city: str) -> str:
    return told(city, await desk.ask("odd", "Odd?", ODD[city]))


async def sample(_desk: Desk, _city: str) -> str:
    asked = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[], max_tokens=1))
    raise _Needed({"sample": asked}, None)


async def later(desk: Desk, _city: str) -> str:
    if desk.params.request_state == "2":
        return "at last"
    raise _Needed({}, "2" if desk.params.request_state else "1")


async def slow(desk: Desk, _city: str) -> str:
    for step in range(3):
        await desk.context.session.report_progress(step + 1, 3, f"step {step + 1}")
    return "slow"


async def visited(desk: Desk, _city: str) -> str:
    if not desk.is_new:
        found = await desk.context.session.elicit_url("Consent, please.", PLACE, "visit-1", desk.context.request_id)
        return told("visit", found)
    said = (desk.params.input_responses or {}).get("visit")
    if isinstance(said, types.ElicitResult):
        return told("visit", said)
    params = types.ElicitRequestURLParams(message="Consent, please.", url=PLACE)
    raise _Needed({"visit": types.ElicitRequest(params=params)}, "visiting")


TOOLS = {
    "book": seats,
    "quote": seats,
    "twice": twice,
    "pair": pair,
    "visit": visited,
    "pay": pay,
    "odd": odd,
    "sample": sample,
    "later": later,
    "slow": slow,
}


def told(what: str, said: types.ElicitResult) -> str:
    return f"{what} {said.action} {json.dumps(said.content)}"


def build(folder: Path) -> Server[Any]:
    async def list_tools(
        _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        marked = ("quote",)
        tools = [
            types.Tool(name=name, input_schema=CITY, annotations=READS if name in marked else None) for name in TOOLS
        ]
        return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="public")

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        desk = Desk(folder, context, params)
        city = str((params.arguments or {}).get("city", ""))
        desk.log(f"calls {params.name} {city} in {os.getpid()}")
        try:
            text = await TOOLS[params.name](desk, city)
        except _Needed as needed:
            return types.InputRequiredResult(input_requests=needed.requests or None, request_state=needed.state)
        desk.log(f"did {params.name}: {text}")
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server("asking", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(folder: Path, era: str) -> None:
    server = build(folder)
    async with stdio_server() as (read, write):
        if era == "new":
            await server.run(read, write, server.create_initialization_options())
            return
        send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def relay() -> None:
            async with send:
                async for item in read:
                    message = item.message if isinstance(item, SessionMessage) else None
                    if isinstance(message, JSONRPCRequest) and message.method == "server/discover":
                        error = ErrorData(code=METHOD_NOT_FOUND, message="unknown method")
                        await write.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=error)))
                    else:
                        await send.send(item)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(relay)
            await server.run(receive, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()


def serve_http(folder: Path, era: str, port: int) -> None:
    app: ASGIApp = build(folder).streamable_http_app()
    listening = socket.create_server(("127.0.0.1", port))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(app if era == "new" else Legacy(app), log_level="critical", lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])


def main(arguments: Sequence[str]) -> None:
    kind, era, place, *more = arguments
    if kind == "stdio":
        anyio.run(serve_stdio, Path(place), era)
    else:
        serve_http(Path(place), era, int(more[0]) if more else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
