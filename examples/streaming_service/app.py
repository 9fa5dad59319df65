"""The application: one address that starts a task or joins it, and tells it; one that decides about calls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypedDict

from offline import example_model
from offline.scripts import mail as script
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from stagepost.agents import Agent, Allow, Deny, InvalidCursor, Tasks, sse, tool
from stagepost.checkpoint import AlreadyAnswered, RunNotFound, SqliteStore, WaitNotFound
from stagepost.workflows import RunConflict, Runner

PAGE: Final = Path(__file__).with_name("page.html")
STATUSES: Final = {RunNotFound: 404, WaitNotFound: 404, AlreadyAnswered: 409, RunConflict: 409, InvalidCursor: 400}


class State(TypedDict):
    """What every request finds in ``request.state``."""

    tasks: Tasks


@tool(needs_approval=True)
async def send_mail(to: str, text: str) -> str:
    """Send a mail to {to}."""
    return f"sent to {to}: {text}"


def create_app(folder: Path) -> Starlette:
    """Make the application.

    Args:
        folder: Where it keeps its tasks.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[State]:
        async with example_model(script) as model, SqliteStore(folder / "tasks.db") as store:
            mailer = Agent("mailer", prompt="Write mails.", model=model, tools=[send_mail])
            async with Runner(store, workflows=[mailer]) as runner:
                await runner.recover()
                yield {"tasks": Tasks(runner)}

    routes = [
        Route("/", page),
        Route("/tasks/{task_id}", listen),
        Route("/approvals/{approval_id:path}", decide, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=dict.fromkeys(STATUSES, refuse))


async def page(_request: Request) -> Response:
    """The page."""
    return FileResponse(PAGE)


async def listen(request: Request) -> Response:
    """Start a task, unless it was, and tell what the client has not got yet."""
    tasks: Tasks = request.state.tasks
    task_id, cursor = request.path_params["task_id"], request.headers.get("last-event-id")
    await tasks.start("mailer", request.query_params["q"], task_id=task_id)
    if cursor is not None and await tasks.heard_all(task_id, cursor):
        return Response(status_code=204)
    return StreamingResponse(sse(tasks.stream(task_id, after=cursor)), media_type="text/event-stream")


async def decide(request: Request) -> Response:
    """Say whether a call may be made."""
    tasks: Tasks = request.state.tasks
    is_allowed = (await request.json())["allowed"]
    decision = Allow() if is_allowed else Deny("somebody who watches says no")
    await tasks.decide(request.path_params["approval_id"], decision)
    return Response(status_code=204)


async def refuse(_request: Request, error: Exception) -> Response:
    """Answer with the status of an error and its words."""
    return Response(str(error), STATUSES[type(error)])
