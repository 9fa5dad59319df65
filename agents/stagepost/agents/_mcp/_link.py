"""The connection to a server: opened when needed, and again after the server has died.

One task owns each open link: it opens it, publishes it, waits for its end, and closes it. Cancel scopes of the SDK
never leave that task. Callers make their calls themselves, so cancelling the caller cancels its call and no other.

The first attempt is made once, since a failure means that the description is wrong. After the server has worked once,
connecting is retried with growing delays, within the connect timeout.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Final, Protocol

import anyio
from anyio.abc import TaskGroup

from stagepost.hub import describe_error
from stagepost.workflows import own_failure

from ..errors import McpCallLost, McpUnavailable
from ._remote import ALONE, Asked, Continuation, Refusal, RemoteResult, RemoteTool
from ._server import McpServer

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_CLOSED: Final = "its connections are closed"


class LinkStale(Exception):
    """Nothing was called, and this link never will call anything again."""


class NotLetIn(McpUnavailable):
    """A person has to let this process in.

    Attributes:
        refusal: What the server said.
    """

    def __init__(self, server: str, refusal: Refusal) -> None:
        super().__init__(server, "a person has to authorize it, and nobody has")
        self.refusal = refusal


class CallLost(Exception):
    """The link broke under a call."""


class Link(Protocol):
    """An open connection, as an adapter gives it."""

    @property
    def instructions(self) -> str:
        """What the server wants models to know; empty if nothing."""
        ...

    async def tools(self) -> Sequence[RemoteTool]:
        """What the server offers now."""
        ...

    @property
    def ended(self) -> anyio.Event:
        """Set when the link is of no use any more, by whoever notices first."""
        ...

    async def call(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation
    ) -> RemoteResult | Asked:
        """Call a tool by the server's name for it, or go on with a call."""
        ...

    def holds(self, key: str) -> bool:
        """Whether a call is open that waits for what people say."""
        ...

    async def cancel(self, task: str) -> None:
        """Have the server end a task."""
        ...

    def mask(self, text: str) -> str:
        """A text without what the connection was given and nobody may see, such as tokens."""
        ...


class Adapter(Protocol):
    """What opens connections."""

    def open_link(self, server: McpServer) -> AbstractAsyncContextManager[Link]:
        """Connect to a server."""
        ...

    def reason(self, server: McpServer, error: Exception) -> str:
        """Why that failed, and what to do about it."""
        ...

    def refusal(self, error: Exception) -> Refusal | None:
        """What the server said, if it failed because a person has to let this process in."""
        ...


class _Opening:
    """An attempt to connect, for all who wait for it: no longer than it may take, even if ending a program does."""

    def __init__(self, server: McpServer) -> None:
        limit = server.connect_timeout
        self.deadline = anyio.current_time() + limit
        self.why = f"it did not answer within {limit:g} s: check that it speaks MCP, or raise connect_timeout="
        self.link: Link | None = None
        self.refusal: Refusal | None = None
        self._server = server.name
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._ended.set()
        return self._scope.__exit__(kind, error, trace)

    @property
    def is_over(self) -> bool:
        """Whether another attempt is of no use."""
        return self.link is not None or self.refusal is not None

    def succeed(self, link: Link) -> None:
        """Give everybody the link."""
        self.link = link
        self._ended.set()

    def give_up(self) -> None:
        """End the attempt."""
        self.why = _CLOSED
        self._scope.cancel()

    async def outcome(self) -> Link:
        """The link, or why there is none."""
        with anyio.CancelScope(deadline=self.deadline):
            await self._ended.wait()
        if self.refusal is not None:
            raise NotLetIn(self._server, self.refusal)
        if self.link is None:
            raise McpUnavailable(self._server, self.why)
        return self.link


class Connection:
    """The connection to a server.

    Args:
        server: The server.
        adapter: What opens it.
        tasks: Where the owning tasks run.
    """

    def __init__(self, server: McpServer, adapter: Adapter, tasks: TaskGroup) -> None:
        self._server = server
        self._adapter = adapter
        self._tasks = tasks
        self._link: Link | None = None
        self._opening: _Opening | None = None
        self._closed = False

    @property
    def server(self) -> McpServer:
        """Which server."""
        return self._server

    async def tools(self) -> Sequence[RemoteTool]:
        """The tools that the server offers now: it says when they are others.

        Raises:
            McpUnavailable: It cannot be reached.
        """
        return await (await self._current()).tools()

    @property
    def instructions(self) -> str:
        """What the server wanted models to know when it was last connected to; empty if nothing."""
        return "" if self._link is None else self._server.mask(self._link.instructions)

    def holds(self, key: str) -> bool:
        """Whether a call is open that waits for what people say."""
        link = self._link
        return link is not None and not link.ended.is_set() and link.holds(key)

    async def cancel(self, task: str) -> None:
        """Have the server end a task, if it can still be told."""
        if self._link is not None and not self._link.ended.is_set():
            await self._link.cancel(task)

    async def call(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation = ALONE
    ) -> RemoteResult | Asked:
        """Call a tool by the server's name for it, or go on with a call.

        Raises:
            McpUnavailable: The server cannot be reached; nothing was called.
            McpCallLost: The server went away under the call.
        """
        try:
            return await self._call(tool, arguments, continuation)
        except LinkStale:
            pass
        except NotLetIn as error:
            return Asked(how="repeat", refusal=error.refusal)
        try:
            return await self._call(tool, arguments, continuation)
        except LinkStale:
            raise McpUnavailable(self._server.name, "it lets itself be connected to, and refuses the calls") from None

    def close(self) -> None:
        """Let the owning task close the connection; nothing is opened any more."""
        self._closed = True
        if self._opening is not None:
            self._opening.give_up()
        if self._link is not None:
            self._link.ended.set()

    async def _call(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation
    ) -> RemoteResult | Asked:
        link = await self._current()
        try:
            result = await link.call(tool, arguments, continuation)
        except CallLost as error:
            raise McpCallLost(self._server.name, tool) from error
        if isinstance(result, Asked):
            return result
        text = link.mask(result.text)
        return result._replace(text=self._server.mask(text) if result.is_error else text)

    async def _current(self) -> Link:
        """An open link."""
        if self._closed:
            raise McpUnavailable(self._server.name, _CLOSED)
        if self._link is not None and not self._link.ended.is_set():
            return self._link
        if self._opening is None:
            self._opening = _Opening(self._server)
            self._tasks.start_soon(self._own, self._opening, name=f"mcp {self._server.name}")
        return await self._opening.outcome()

    async def _own(self, opening: _Opening) -> None:
        """One life of the connection, or one failure to begin it."""
        try:
            with opening:
                for pause in pauses(again=self._link is not None):
                    await anyio.sleep(pause)
                    await self._live(opening)
                    if opening.is_over or anyio.current_time() >= opening.deadline:
                        break
        finally:
            self._done_with(opening)

    async def _live(self, opening: _Opening) -> None:
        """Open the link and keep it until its end; or find out why it does not open."""
        with anyio.CancelScope(deadline=opening.deadline) as connecting:
            try:
                async with self._adapter.open_link(self._server) as link:
                    connecting.deadline = math.inf
                    self._link = link
                    opening.succeed(link)
                    self._done_with(opening)
                    try:
                        await link.ended.wait()
                    finally:
                        link.ended.set()
            except BaseException as error:  # noqa: BLE001  # a foreign program's failures, and an SDK's groups of them
                failure = own_failure(error)
                opening.why = self._server.mask(self._why(failure))
                opening.refusal = self._adapter.refusal(failure) if isinstance(failure, Exception) else None

    def _why(self, failure: BaseException) -> str:
        if isinstance(failure, Exception):
            return self._adapter.reason(self._server, failure)
        return describe_error(failure)

    def _done_with(self, opening: _Opening) -> None:
        """Let whoever needs a link next begin anew."""
        if self._opening is opening:
            self._opening = None


def pauses(*, again: bool) -> Iterator[float]:
    """Seconds to wait before each attempt: one attempt at first, any number once the server has been there."""
    yield 0
    pause = _FIRST_PAUSE
    while again:
        yield pause
        pause = min(pause * 2, _LONGEST_PAUSE)
