"""A service as a process of its own: ``python -m tests.service.http._process FILE FD FLAG``.

Its agent looks out of the window, then asks for a mail to be approved. Its model answers the second question only once
the file FLAG is there, so that the process can be killed in mid-turn.
"""

import socket
import sys
from pathlib import Path
from typing import Any

import anyio
import uvicorn

from stagepost.agents import Agent, FunctionModel, call, tool
from stagepost.checkpoint import SqliteStore
from stagepost.service import RequestLimits, create_app
from stagepost.workflows import Runner


@tool(idempotent=True)
async def look(city: str) -> str:
    """Look out of the window."""
    return f"rain in {city}"


@tool(needs_approval=True)
async def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def agent(flag: Path) -> Agent[str]:
    async def write(request: Any) -> Any:
        asked = sum(message.role == "assistant" for message in request.messages)
        if asked == 1:
            while not flag.exists():  # noqa: ASYNC110, ASYNC240  # until the process is killed
                await anyio.sleep(0.01)
        return [call("look", city="Oslo"), call("send_mail", to="ann"), "It rains."][asked]

    return Agent("scout", prompt="S.", model=FunctionModel(write), tools=[look, send_mail])


async def main(file: str, descriptor: int, flag: str) -> None:
    runner = Runner(SqliteStore(file, lock_timeout=10), workflows=[agent(Path(flag))])
    app = create_app(runner, limits=RequestLimits.none())
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1))
    await server.serve(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), sys.argv[3])
