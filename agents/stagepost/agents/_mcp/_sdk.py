"""The module that knows the MCP SDK; its types are known to `_sdk_content`, too.

Importing it takes half a second: it is done in a thread, when needed.

Everything of the SDK that opens is closed by the task that opened it; its calls may come from any task.
"""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, Self, assert_never

import anyio
import anyio.lowlevel
import httpx2
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .._models._addresses import bare_address, shown_address
from ._link import CallLost, LinkStale, pauses
from ._remote import RemoteResult, RemoteTool
from ._sdk_content import described, needs_task, told
from ._server import Http, McpServer, Memory, Stdio

_SESSION: Final = "mcp-session-id"


class _Fate:
    """What a transport knows of one call.

    Attributes:
        refused: The call has certainly not been made: nobody listened, or the server did not know the session, as after
            a restart.
    """

    def __init__(self) -> None:
        self.refused = False


_FATE: ContextVar[_Fate | None] = ContextVar(
    "stagepost_mcp_fate", default=None
)  # the SDK sends in the caller's context


class _ShownUrl(httpx2.URL):
    """An address that is used as it is, and shown in logs and errors without what is secret."""

    def __str__(self) -> str:
        return shown_address(super().__str__())


class _HttpClient(httpx2.AsyncClient):
    """Keeps the keys in an address to itself: the SDK, which logs and quotes it, knows only the `bare_address`.

    Notes which calls are refused: the SDK tells of all that fail in one way.
    """

    def __init__(self, http: Http, **options: Any) -> None:
        super().__init__(headers=dict(http.headers), **options)
        self._shown = httpx2.URL(bare_address(http.url))
        self._url = _ShownUrl(http.url)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        if request.url == self._shown:
            request.url = self._url
        try:
            response = await super().send(request, **options)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            _refused()
            raise
        if response.status_code == httpx2.codes.NOT_FOUND and _SESSION in request.headers:
            _refused()
        return response


def _refused() -> None:
    if fate := _FATE.get():
        fate.refused = True


class News:
    """Whether a server has said that its tools are others.

    Attributes:
        ended: Set when the connection is of no use any more.
    """

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self._are_others = False

    def note(self) -> None:
        """They are others."""
        self._are_others = True

    def take(self) -> bool:
        """Whether they are others, once."""
        are_others, self._are_others = self._are_others, False
        return are_others

    async def hear(self, message: object) -> None:
        """What servers before the protocol of 2026 send by themselves."""
        if isinstance(message, ToolListChangedNotification):
            self.note()
        await anyio.lowlevel.checkpoint()

    async def listen(self, client: Client) -> None:
        """What later ones send to those who listen. Nothing is sent again, so a lost stream counts as news."""
        for pause in pauses(again=True):
            await anyio.sleep(pause)
            try:
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self.note()
            except SubscriptionLost:
                self.note()
            except Exception:  # noqa: BLE001  # it wants nobody to listen, and its tools can be called all the same
                return
            else:
                return


class SdkLink:
    """An open connection.

    Args:
        client: The SDK's client.
        offer: The server's tools.
        news: Tells when they are others.
        limit: Seconds in which it has to tell of them.

    Attributes:
        instructions: What the server wants models to know.
        ended: Set when the connection is of no use any more, by whoever notices first.
    """

    def __init__(self, client: Client, offer: tuple[RemoteTool, ...], news: News, limit: float) -> None:
        self._client = client
        self._offer = offer
        self._news = news
        self._limit = limit
        self.instructions = client.instructions or ""
        self.ended = news.ended

    async def tools(self) -> tuple[RemoteTool, ...]:
        """The server's tools; asked for again if it has said that they are others.

        If it does not answer then, they are those of before: what is called tells whether it is still there.
        """
        if self._news.take():
            try:
                with anyio.fail_after(self._limit):
                    self._offer = await _tools(self._client)
            except (MCPError, TimeoutError):
                self._news.note()
        return self._offer

    async def call(self, tool: str, arguments: Mapping[str, object]) -> RemoteResult:
        """Call a tool by the server's name for it.

        Raises:
            LinkStale: Nothing was called, and nothing can be: another link is needed.
            CallLost: The link broke, and nobody knows whether the call has taken effect.
        """
        fate = _Fate()
        token = _FATE.set(fate)
        try:
            return told(await self._client.call_tool(tool, dict(arguments)))
        except MCPError as error:
            if fate.refused:
                self.ended.set()
                raise LinkStale from error
            if error.code == CONNECTION_CLOSED:
                raise CallLost from error
            return RemoteResult(error.message, is_error=True)
        finally:
            _FATE.reset(token)


@asynccontextmanager
async def open_link(server: McpServer) -> AsyncIterator[SdkLink]:
    """Connect to a server and ask for its tools."""
    news = News()
    async with AsyncExitStack() as stack:
        target = await _target(server, news.ended, stack)
        client = await stack.enter_async_context(Client(target, cache=None, message_handler=news.hear))
        link = SdkLink(client, await _tools(client), news, server.connect_timeout)
        if not _tells_changes(client):
            yield link
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(news.listen, client)
            try:
                yield link
            finally:
                tasks.cancel_scope.cancel()


def _tells_changes(client: Client) -> bool:
    tools = client.server_capabilities.tools
    return tools is not None and bool(tools.list_changed) and client.protocol_version in MODERN_PROTOCOL_VERSIONS


def reason(server: McpServer, error: Exception) -> str:
    """Why a connection did not come about, and what to do about it."""
    transport, cause = server.transport, _innermost(error)
    if isinstance(transport, Stdio):
        if isinstance(cause, FileNotFoundError):
            if " " in transport.command:
                first, *others = (repr(part) for part in transport.command.split())
                return f"there is no program {transport.command!r}: give {', '.join((first, *others))} one by one"
            return (
                f"there is no program {transport.command!r}: install it, or give its whole path (cwd={transport.cwd!r})"
            )
        if isinstance(cause, MCPError) and cause.code == CONNECTION_CLOSED:
            return f"{transport.command!r} ended before it had answered: run it by hand to see what it says"
    if isinstance(transport, Http):
        where = shown_address(transport.url)
        return f"{where} answers with {_told(cause)}: check the address, the headers, and that it is running"
    return _told(cause)


async def _target(server: McpServer, ended: anyio.Event, stack: AsyncExitStack) -> Any:
    """What the SDK's client takes: a transport, or a server object."""
    match server.transport:
        case Stdio() as stdio:
            parameters = StdioServerParameters(
                command=stdio.command, args=list(stdio.args), env=dict(stdio.env), cwd=stdio.cwd
            )
            return _watched(stdio_client(parameters, errlog=_stderr(stack)), ended)
        case Http() as http:
            # Calls and connecting have limits of their own; the defaults here would be others.
            limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
            client = _HttpClient(http, timeout=None, limits=limits)
            return streamable_http_client(bare_address(http.url), http_client=await stack.enter_async_context(client))
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


async def _tools(client: Client) -> tuple[RemoteTool, ...]:
    """All tools, page by page."""
    if client.server_capabilities.tools is None:
        return ()
    page = await client.list_tools()
    found = [*page.tools]
    while page.next_cursor:
        page = await client.list_tools(cursor=page.next_cursor)
        found.extend(page.tools)
    return tuple(described(tool) for tool in found if not needs_task(tool))


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _told(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
