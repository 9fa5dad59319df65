"""A service whose clients listen to tasks over SSE; see `_world`. It is killed at any time, and started again."""

import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from tests.agents.stream._world import healed, team

from stagepost.agents import Agent, Allow, CallNotInDoubt, Deny, Tasks, sse
from stagepost.checkpoint import AlreadyAnswered, RunNotOpen, RunStatus, SqliteStore
from stagepost.workflows import Runner

READY = "ready"


class Context(TypedDict):
    """What every request finds in ``request.state``."""

    folder: Path
    lead: Agent[str]
    runner: Runner
    tasks: Tasks


def create_app(folder: Path) -> Starlette:
    """The application.

    Args:
        folder: Where its store is.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[Context]:
        lead = team(folder)
        async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[lead]) as runner:
            await runner.recover()
            yield {"folder": folder, "lead": lead, "runner": runner, "tasks": Tasks(runner)}

    routes = [
        Route("/tasks/{task}", start, methods=["POST"]),
        Route("/tasks/{task}/events", events, methods=["GET"]),
        Route("/tasks/{task}/resume", resume, methods=["POST"]),
        Route("/decisions", decide, methods=["POST"]),
        Route("/doubts", settle, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


async def start(request: Request) -> Response:
    """Start a task, or one that follows up another; the same task once."""
    tasks: Tasks = request.state.tasks
    body = await request.json()
    if body["after"]:
        await tasks.follow_up(body["after"], body["text"], new_id=request.path_params["task"])
    else:
        await tasks.start(request.state.lead, body["text"], task_id=request.path_params["task"])
    return Response(status_code=202)


async def events(request: Request) -> Response:
    """What is told of a task, after what the client has got."""
    tasks: Tasks = request.state.tasks
    task, after = request.path_params["task"], request.headers.get("last-event-id")
    if after is not None and await tasks.heard_all(task, after):
        return Response(status_code=204)
    return StreamingResponse(sse(tasks.stream(task, after=after)), media_type="text/event-stream")


async def resume(request: Request) -> Response:
    """Heal a task, and go on with it if it has failed; it may be on its way already."""
    runner: Runner = request.state.runner
    task = request.path_params["task"]
    body = await request.json()
    healed(request.state.folder, body["text"]).touch()
    if (await runner.runs.info(task)).status is RunStatus.FAILED:
        await runner.resume(task)
    return Response(status_code=202)


async def decide(request: Request) -> Response:
    """Decide about a call; the first word counts."""
    tasks: Tasks = request.state.tasks
    body = await request.json()
    decision = Allow() if body["allow"] else Deny("not now")
    try:
        await tasks.decide(body["id"], decision, by="ann")
    except (AlreadyAnswered, RunNotOpen):
        return Response(status_code=409)
    return Response(status_code=202)


async def settle(request: Request) -> Response:
    """Say what has come of a call in doubt."""
    tasks: Tasks = request.state.tasks
    body = await request.json()
    try:
        await tasks.settle(body["id"], "It was done.")
    except CallNotInDoubt:
        return Response(status_code=409)
    return Response(status_code=202)


def main() -> None:
    """Serve until it is killed."""
    logging.getLogger("stagepost").setLevel(logging.CRITICAL)  # tasks fail: that is intended
    folder = Path(sys.argv[1])
    socket = folder / "socket"
    socket.unlink(missing_ok=True)
    config = uvicorn.Config(create_app(folder), uds=str(socket), log_level="critical", ws="none")
    listening = config.bind_socket()
    listening.listen()  # clients who come early wait
    sys.stdout.write(f"{READY}\n")
    sys.stdout.flush()
    anyio.run(lambda: uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main()
