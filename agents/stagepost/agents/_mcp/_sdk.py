"""Connections by the MCP SDK, which the modules named ``_sdk…`` know and no other.

Importing it takes half a second: it is done in a thread, when needed.

Everything of the SDK that opens is closed by the task that opened it; its calls may come from any task.
"""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, assert_never

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from stagepost._installing import installed_version
from stagepost.workflows import Mask

from .._models._addresses import bare_address
from ._held import HeldCalls
from ._remote import ALONE, Asked, Continuation, RemoteResult, RemoteTool
from ._sdk_calls import Desk, SdkCalls
from ._sdk_http import HttpClient
from ._sdk_listing import Listing, News, is_modern
from ._sdk_reason import reason, refusal
from ._sdk_tasks import TasksExtension
from ._server import Http, McpServer, Memory, Stdio

__all__ = ["SdkLink", "open_link", "reason", "refusal"]


class SdkLink:
    """An open connection.

    Args:
        client: The SDK's client.
        listing: Asks for the server's tools.
        offer: Those that it has now.
        news: Tells when they are others.
        calls: Makes calls.
        limit: Seconds in which the server has to tell of its tools.
        tokens: Gives what it was let in with.

    Attributes:
        instructions: What the server wants models to know.
        ended: Set when the connection is of no use any more, by whoever notices first.
    """

    def __init__(
        self,
        client: Client,
        listing: Listing,
        offer: tuple[RemoteTool, ...],
        news: News,
        *,
        calls: SdkCalls,
        limit: float,
        tokens: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._listing = listing
        self._offer = offer
        self._news = news
        self._calls = calls
        self._limit = limit
        self._tokens = tokens
        self._mask: tuple[Sequence[str], Mask] = ((), Mask(()))
        self.instructions = client.instructions or ""
        self.ended = news.ended

    async def tools(self) -> tuple[RemoteTool, ...]:
        """The server's tools; asked for again if it has said that they are others.

        If it does not answer then, they are those of before: what is called tells whether it is still there.
        """
        if self._news.take():
            try:
                with anyio.fail_after(self._limit):
                    self._offer = await self._listing.tools()
            except (MCPError, TimeoutError):
                self._news.note()
        return self._offer

    async def call(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation = ALONE
    ) -> RemoteResult | Asked:
        """Call a tool by the server's name for it, or go on with a call.

        Raises:
            LinkStale: Nothing was called, and nothing can be: another link is needed.
            CallLost: The link broke, and nobody knows whether the call has taken effect.
        """
        return await self._calls.make(tool, arguments, continuation)

    async def cancel(self, task: str) -> None:
        """Have the server end a task."""
        with suppress(MCPError):
            await self._calls.cancel(task)

    def holds(self, key: str) -> bool:
        """Whether a call is open that waits for what people say."""
        return self._calls.holds(key)

    def mask(self, text: str) -> str:
        """A text without the tokens that the connection was given."""
        tokens = self._tokens()
        if not tokens:
            return text
        if tokens != self._mask[0]:
            self._mask = (tokens, Mask(tokens))
        return self._mask[1](text)


@asynccontextmanager
async def open_link(server: McpServer) -> AsyncIterator[SdkLink]:
    """Connect to a server and ask for its tools."""
    news, desk = News(), Desk()
    async with AsyncExitStack() as stack:
        http = await _http(server, stack)
        target = await _target(server, http, news.ended, stack)
        client = await stack.enter_async_context(
            Client(
                target,
                cache=None,
                message_handler=news.hear,
                elicitation_callback=desk.elicit,
                extensions=[TasksExtension()],
                client_info=Implementation(name="stagepost", version=installed_version()),
            )
        )
        listing = Listing(client, server.name)
        offer = await listing.tools()
        async with anyio.create_task_group() as tasks:
            if not is_modern(client):
                desk.calls = HeldCalls(tasks)
            if _tells_changes(client):
                tasks.start_soon(news.listen, client)
            calls = SdkCalls(client, server.name, news.ended, desk.calls, listing.tools)
            tokens: Callable[[], Sequence[str]] = tuple
            if http is not None:
                http.is_open = True
                tokens = http.tokens
            try:
                yield SdkLink(client, listing, offer, news, calls=calls, limit=server.connect_timeout, tokens=tokens)
            finally:
                tasks.cancel_scope.cancel()


def _tells_changes(client: Client) -> bool:
    tools = client.server_capabilities.tools
    return tools is not None and bool(tools.list_changed) and is_modern(client)


async def _http(server: McpServer, stack: AsyncExitStack) -> HttpClient | None:
    """The HTTP client of a connection, if it needs one."""
    if not isinstance(server.transport, Http):
        return None
    # Calls and connecting have limits of their own; the defaults here would be others.
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    return await stack.enter_async_context(HttpClient(server.transport, server.name, timeout=None, limits=limits))


async def _target(server: McpServer, http: HttpClient | None, ended: anyio.Event, stack: AsyncExitStack) -> Any:
    """What the SDK's client takes: a transport, or a server object."""
    match server.transport:
        case Stdio() as stdio:
            parameters = StdioServerParameters(
                command=stdio.command, args=list(stdio.args), env=dict(stdio.env), cwd=stdio.cwd
            )
            return _watched(stdio_client(parameters, errlog=_stderr(stack)), ended)
        case Http(url=url):
            return streamable_http_client(bare_address(url), http_client=http)
        case Memory() as memory:
            return memory.server
        case _:
            assert_never(server.transport)


def _stderr(stack: AsyncExitStack) -> Any:
    """The process' own standard error, whatever stands in its place: a server writes to a file, not to an object."""
    return sys.__stderr__ or stack.enter_context(Path(os.devnull).open("w"))


@asynccontextmanager
async def _watched(transport: AbstractAsyncContextManager[Any], ended: anyio.Event) -> AsyncIterator[Any]:
    """A transport that tells of its end at once, and not only to the next call, whose outcome would be in doubt."""
    async with transport as (read, write):
        yield _Watched(read, ended), write


class _Watched:
    """A stream of messages that sets an event when it ends."""

    def __init__(self, stream: Any, ended: anyio.Event) -> None:
        self._stream = stream
        self._ended = ended

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stream.__aexit__(*error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended.set()
            raise

    async def receive(self) -> Any:
        return await self._stream.receive()

    async def aclose(self) -> None:
        await self._stream.aclose()
