"""The tools of a server, and whether they have become others."""

import anyio
import anyio.lowlevel
from mcp import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import Tool, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from stagepost.hub import get_logger

from ._link import pauses
from ._remote import RemoteTool
from ._sdk_content import described, needs_task


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


class Listing:
    """Asks for a server's tools.

    Args:
        client: The SDK's client.
        server: The server's name, for the log.
    """

    def __init__(self, client: Client, server: str) -> None:
        self._client = client
        self._server = server
        self._left_out: set[str] = set()

    async def tools(self) -> tuple[RemoteTool, ...]:
        """All tools that can be called, page by page."""
        if self._client.server_capabilities.tools is None:
            return ()
        page = await self._client.list_tools()
        found = [*page.tools]
        while page.next_cursor:
            page = await self._client.list_tools(cursor=page.next_cursor)
            found.extend(page.tools)
        return tuple(described(tool) for tool in found if not self._leaves_out(tool))

    def _leaves_out(self, tool: Tool) -> bool:
        """Whether a tool cannot be called, which is logged once."""
        if is_modern(self._client) or not needs_task(tool):
            return False
        if tool.name not in self._left_out:
            self._left_out.add(tool.name)
            why = "it can only be called by tasks of the protocol of 2025-11-25, which the SDK does not speak"
            get_logger("agents").warning("mcp_tool_not_offered", server=self._server, tool=tool.name, why=why)
        return True


def is_modern(client: Client) -> bool:
    """Whether it speaks the protocol of 2026 with its server."""
    return client.protocol_version in MODERN_PROTOCOL_VERSIONS
