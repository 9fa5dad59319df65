"""A server that needs no SDK: an adapter whose links open, fail, hang and end as a test says."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import anyio

from stagepost.agents import McpServer
from stagepost.agents._mcp._link import CallLost, LinkStale
from stagepost.agents._mcp._remote import ALONE, Asked, Continuation, Refusal, RemoteResult, RemoteTool

ECHO = RemoteTool("echo", "Says it again.", {"type": "object"}, marked_idempotent=True)

Opening = str | Exception
"""``"open"``, ``"hang"``, or the error that opening ends with."""


class ScriptedLink:
    """Echoes; ``hang`` waits until the link has ended. A stale one says so, and ends."""

    instructions = ""

    def __init__(self, tools: Sequence[RemoteTool]) -> None:
        self._tools = tools
        self.ended = anyio.Event()
        self.hanging = anyio.Event()
        self.stale = False
        self.held: set[str] = set()
        self.cancelled: list[str] = []
        self.continuations: list[Continuation] = []

    async def tools(self) -> Sequence[RemoteTool]:
        return self._tools

    def holds(self, key: str) -> bool:
        return key in self.held

    async def cancel(self, task: str) -> None:
        self.cancelled.append(task)

    def mask(self, text: str) -> str:
        return text.replace("token-of-the-link", "***")

    async def call(
        self, tool: str, arguments: Mapping[str, object], continuation: Continuation = ALONE
    ) -> RemoteResult | Asked:
        self.continuations.append(continuation)
        if self.stale:
            self.ended.set()
            raise LinkStale
        if tool == "hang":
            self.hanging.set()
            await self.ended.wait()
            raise CallLost
        return RemoteResult(f"{tool} {dict(arguments)}", is_error=False)


class ScriptedAdapter:
    """Opens a link for each entry of a script; the last entry stands for all that follow."""

    def __init__(self, *script: Opening, made: Callable[[ScriptedLink], None] = lambda _link: None) -> None:
        self._script = list(script)
        self._made = made
        self.links: list[ScriptedLink] = []
        self.attempts = 0
        self.open = 0
        self.server: McpServer | None = None

    def open_link(self, server: McpServer) -> AbstractAsyncContextManager[ScriptedLink]:
        return self._open(server)

    def reason(self, server: McpServer, error: Exception) -> str:
        return f"told of {server.name}: {error}"

    def refusal(self, error: Exception) -> Refusal | None:
        return error.args[0] if isinstance(error, PermissionError) else None

    @asynccontextmanager
    async def _open(self, server: McpServer) -> AsyncIterator[ScriptedLink]:
        self.attempts += 1
        self.server = server
        how = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if isinstance(how, Exception):
            raise how
        if how == "hang":
            await anyio.sleep_forever()
        link = ScriptedLink([ECHO])
        self._made(link)
        self.links.append(link)
        self.open += 1
        async with anyio.create_task_group() as tasks:  # as a real one: to be left by the task that has entered it
            tasks.start_soon(anyio.sleep_forever)
            try:
                yield link
            finally:
                self.open -= 1
                tasks.cancel_scope.cancel()
