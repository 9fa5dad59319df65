"""What is measured of the service; the processes that serve are measured, not this one."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import SocketStream
from benchmarks.service.flows import workflows
from benchmarks.service.process import Service, served

from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

_STREAMS: Final = 500
_IDLE: Final = 10.0  # seconds
_ASK: Final = "GET /runs/{run}/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"


async def fill(file: Path, runs: int) -> None:
    """Leave open runs in a store."""
    async with SqliteStore(file, durability="process") as store, Runner(store, workflows=workflows) as runner:
        handles = [await runner.start(workflows[0], {}, run_id=f"run-{number}") for number in range(runs)]
        for handle in handles:
            await handle.settled()


async def start(folder: Path, runs: int) -> float:
    """Seconds until a service with so many open runs serves."""
    file = folder / f"runs-{runs}.db"
    if not file.exists():
        await fill(file, runs)
    with served(file) as service:
        return service.took


@asynccontextmanager
async def listened(service: Service, count: int) -> AsyncIterator[list[SocketStream]]:
    """Streams that are open, and have begun."""
    async with AsyncExitStack() as stack:
        streams = []
        for number in range(count):
            stream = await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", service.port))
            await stream.send(_ASK.format(run=f"run-{number % 100}").encode())
            streams.append(stream)
        for stream in streams:
            answer = await stream.receive()
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(answer.decode())
        yield streams


async def streams(folder: Path) -> dict[str, float]:
    """What 500 open streams cost: bytes, the part of a processor while nothing happens, seconds until the end."""
    file = folder / "streams.db"
    if not file.exists():
        await fill(file, 100)
    with served(file) as service:
        async with listened(service, 1):
            pass
        before, began = service.memory, service.cpu
        await anyio.sleep(_IDLE)
        bare = (service.cpu - began) / _IDLE
        async with listened(service, _STREAMS):
            await anyio.sleep(1)
            memory, began = service.memory - before, service.cpu
            await anyio.sleep(_IDLE)
            busy = (service.cpu - began) / _IDLE
            ended = await anyio.to_thread.run_sync(service.end)
    return {"memory": memory, "idle": busy, "idle bare": bare, "end": ended}


async def end(folder: Path) -> float:
    """Seconds until a service without streams has ended."""
    file = folder / "streams.db"
    with served(file) as service:
        return await anyio.to_thread.run_sync(service.end)
