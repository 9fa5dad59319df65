"""What a client is told when the hub, or an agent, says no."""

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse

from stagepost.hub import (
    AgentNotFound,
    AgentStopped,
    HandlerFailed,
    HubError,
    HubStopped,
    InvalidTopic,
    MailboxFull,
    NoHandler,
    RequestTimeout,
)

from .shop import OutOfStock

# The class of an error decides, the most specific one first. What is missing here is a fault of the service: 500, and
# its words stay in the log.
STATUSES: Final[Mapping[type[BaseException], int]] = {
    InvalidTopic: 400,
    AgentNotFound: 404,
    OutOfStock: 409,
    NoHandler: 422,
    MailboxFull: 503,
    AgentStopped: 503,
    HubStopped: 503,
    RequestTimeout: 504,
}
_TRY_AGAIN: Final = {503: {"Retry-After": "1"}}


def status_of(error: BaseException) -> int:
    """The status for an error. A handler's failure has that of its cause."""
    if isinstance(error, HandlerFailed):
        return status_of(error.cause)
    return next((STATUSES[class_] for class_ in type(error).__mro__ if class_ in STATUSES), 500)


async def answer_hub_error(_request: Request, error: Exception) -> JSONResponse:
    """Answer with the status of an error and, if the client may know, its words."""
    if not isinstance(error, HubError):
        raise error
    status = status_of(error)
    said = error.cause if isinstance(error, HandlerFailed) else error
    words = str(said) if status < 500 else type(said).__name__  # noqa: PLR2004 - the client's faults end there
    return JSONResponse({"error": words}, status, headers=_TRY_AGAIN.get(status))
