"""An application that a real server serves in this process."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import uvicorn
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Serve an application on a free port of this machine; its address."""
    AppStatus.should_exit = False  # set for the whole process by a server that has ended before
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(_serve, server, listening)
            while not server.started:  # noqa: ASYNC110  # it has no event for that
                await anyio.sleep(0.005)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            server.should_exit = True


async def _serve(server: uvicorn.Server, listening: socket.socket) -> None:
    await server._serve([listening])  # `serve` takes over the signals of the process
