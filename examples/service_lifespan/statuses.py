"""What a client is told when the runner says no."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse

from stagepost.checkpoint import AlreadyAnswered, CannotStore, RunNotFound, RunNotOpen, WaitNotFound
from stagepost.workflows import RunConflict, RunForgotten, RunnerStopped

STATUSES: Final[Mapping[type[Exception], int]] = {
    RunNotFound: 404,
    WaitNotFound: 404,
    AlreadyAnswered: 409,
    RunConflict: 409,
    RunNotOpen: 409,
    RunForgotten: 410,
    CannotStore: 422,
    RunnerStopped: 503,
}


async def refuse(_request: Request, error: Exception) -> JSONResponse:
    """Answer with the status of an error and its words, which say what to do."""
    return JSONResponse({"error": str(error)}, STATUSES[type(error)])


HANDLERS: Final[Mapping[type[Exception], Callable[[Request, Exception], Awaitable[JSONResponse]]]] = dict.fromkeys(
    STATUSES, refuse
)
