"""The services that are measured, each as a process of its own: ``python -m benchmarks.service.served NAME FILE FD``.

``ours`` serves an agent, and a supervisor with one worker. ``bare`` is the least that Starlette can do: a route that
sends what the same model says.
"""

import gc
import socket
import sys
from collections.abc import AsyncGenerator
from time import time
from typing import Final

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from stagepost.agents import Agent, ModelRequest, ModelResponse, ScriptedModel, Token, call, tool
from stagepost.checkpoint import SqliteStore
from stagepost.service import RequestLimits
from stagepost.service.supervisor import SupervisorFactory, WorkerConfig, WorkerFactory, create_supervisor_app
from stagepost.workflows import Runner

FIRST: Final = 0.5  # seconds until the first token of an answer
WHOLE: Final = 2.0  # seconds until the answer
TOKENS: Final = 40
ASKS: Final = "worker"  # with this word in the message the supervisor asks its worker first

_WORKER: Final = WorkerConfig(
    name="clock_maker", model="script", tools=("look",), prompt_name="clock-maker", description="Knows clocks."
)


async def ticks() -> AsyncGenerator[str, None]:
    """The tokens of an answer: the times at which they were made."""
    begun = anyio.current_time()
    await anyio.sleep(FIRST)
    made = f"{time():.6f} "
    for number in range(TOKENS):
        yield made
        due = begun + FIRST + (WHOLE - FIRST) * (number + 1) / TOKENS  # a provider does not wait for its readers
        await anyio.sleep_until(due)
        made = f"{time():.6f} "


class Clock:
    """A model whose tokens are the times at which they were made."""

    name = "clock"

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Answer after two seconds; if the message says so, ask the worker before, without taking any time."""
        if request.tools and request.messages[-1].role == "user" and ASKS in request.messages[-1].text:
            return ModelResponse(calls=(call("ask_clock_maker_agent", request="What time is it?"),))
        text, number = "", 0
        async for made in ticks():
            if request.on_token is not None:
                request.on_token(Token(number, made))
            text, number = text + made, number + 1
        return ModelResponse(text)


@tool(idempotent=True)
async def look() -> str:
    """Look at the clock."""
    return "It is late."


def ours(file: str) -> ASGIApp:
    """The service."""
    workers = WorkerFactory([look], models={"script": ScriptedModel([call("look"), "It is late."])})
    supervisor = SupervisorFactory(workers, model=Clock()).create([_WORKER])
    agent = Agent("clock", prompt="Tell the time.", model=Clock())
    runner = Runner(SqliteStore(file), workflows=[agent, supervisor], max_running=None, grace=0)
    return create_supervisor_app(runner, supervisor, [_WORKER], limits=RequestLimits.none())


def bare(_file: str) -> ASGIApp:
    """The least route that sends the answer of the model; it stores nothing."""

    async def events() -> AsyncGenerator[bytes, None]:
        async for made in ticks():
            yield b'event: token\ndata: {"token":"%b"}\n\n' % made.encode()
        yield b"event: completed\ndata: {}\n\n"

    async def answer(request: Request) -> StreamingResponse:
        await request.json()
        return StreamingResponse(events(), media_type="text/event-stream")

    return Starlette(routes=[Route("/", answer, methods=["POST"])])


async def main(name: str, file: str, descriptor: int) -> None:
    """Serve until the process is killed."""
    app = {"ours": ours, "bare": bare}[name](file)
    config = uvicorn.Config(app, log_level="critical", ws="none", access_log=False)
    gc.collect()
    gc.freeze()  # as `stagepost serve` does it
    await uvicorn.Server(config).serve(sockets=[socket.socket(fileno=descriptor)])


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]))
