"""Which status each error has over HTTP, and the form in which it is told."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from stagepost.agents.errors import AgentError
from stagepost.checkpoint.errors import CheckpointError
from stagepost.hub.errors import HubError
from stagepost.workflows.errors import WorkflowError

from ..errors import InvalidBody, ServiceError

KNOWN: Final = (AgentError, CheckpointError, HubError, WorkflowError, ServiceError)

_ROWS: Final[Mapping[HTTPStatus, tuple[str, ...]]] = {
    HTTPStatus.BAD_REQUEST: ("CursorRefused", "InputRefused", "InvalidCursor", "InvalidName"),
    HTTPStatus.UNAUTHORIZED: ("KeyRequired",),
    HTTPStatus.FORBIDDEN: ("RequestRefused", "ScopeRequired"),
    HTTPStatus.NOT_FOUND: (
        "CallNotInDoubt",
        "EffectNotFound",
        "NotInHistory",
        "RunNotFound",
        "ScheduleNotFound",
        "UnknownSignal",
        "WaitNotFound",
        "WorkflowNotFound",
    ),
    HTTPStatus.CONFLICT: (
        "AlreadyAnswered",
        "CancelRequested",
        "ConversationOver",
        "EffectError",
        "EffectsAgain",
        "ForkRefused",
        "IncompatibleCheckpoint",
        "RunConflict",
        "RunLeftOpen",
        "RunNotEnded",
        "RunNotOpen",
        "RunOwned",
        "TaskFinished",
        "TaskNotFinished",
        "UnknownWorkflow",
    ),
    HTTPStatus.GONE: ("RunForgotten",),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ("BodyTooLarge", "ValueTooLarge", "BlobTooLarge"),
    HTTPStatus.UNPROCESSABLE_ENTITY: (
        "CannotStore",
        "InvalidBody",
        "InvalidDecision",
        "InvalidRequest",
        "LabelRefused",
        "NotAnAgent",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: ("TooManyRequests", "TooManyStreams"),
    HTTPStatus.SERVICE_UNAVAILABLE: (
        "NotServing",
        "RunnerNotOpen",
        "RunnerStopped",
        "StoreClosed",
        "StoreLocked",
        "StoreLost",
        "StoreNotWritable",
        "StoreTakenOver",
    ),
}
STATUSES: Final[Mapping[str, HTTPStatus]] = MappingProxyType(
    {name: status for status, names in _ROWS.items() for name in names}
)
_HIDDEN: Final = frozenset({"StoreClosed", "StoreLocked", "StoreLost", "StoreNotWritable", "StoreTakenOver"})


def status_of(error: BaseException) -> HTTPStatus | None:
    """The status of an error: that of its nearest class in the table; None if there is none, which nobody expects."""
    if not isinstance(error, KNOWN):
        return None
    return next((STATUSES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in STATUSES), None)


def answered(error: BaseException) -> Response | None:
    """The answer that tells of an error; None of one that nobody expects, whose text may have insides."""
    status = status_of(error)
    if status is None:
        return None
    kind = type(error).__name__
    message = "The store cannot be used now" if kind in _HIDDEN else str(error)
    told: dict[str, Any] = {"type": kind, "message": message}
    if isinstance(error, ServiceError) and error.hint is not None:
        told["hint"] = error.hint
    if isinstance(error, InvalidBody) and error.details:
        told["details"] = [{"field": detail.field, "message": detail.message} for detail in error.details]
    return JSONResponse({"error": told}, status, headers=dict(_headers(error, status)))


def unexpected(reference: str) -> Response:
    """The answer to a failure that nobody expects: nothing of it but where the log has it."""
    told = {"type": "InternalServerError", "message": "Internal server error", "reference": reference}
    return JSONResponse({"error": told}, HTTPStatus.INTERNAL_SERVER_ERROR)


async def http_error(_request: Request, error: Exception) -> Response:
    """The answer to what Starlette raises: no such route, a method that it does not take, a refusal of a route."""
    if not isinstance(error, HTTPException):
        raise error
    kind = HTTPStatus(error.status_code).phrase.title().replace(" ", "")
    told = {"type": kind, "message": error.detail}
    return JSONResponse({"error": told}, error.status_code, headers=error.headers)


def _headers(error: BaseException, status: HTTPStatus) -> Iterator[tuple[str, str]]:
    if status == HTTPStatus.UNAUTHORIZED:
        yield "WWW-Authenticate", 'Bearer realm="stagepost"'
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        yield "Connection", "close"  # else a server reads what is left of it
    retry_after = getattr(error, "retry_after", None)
    if isinstance(retry_after, int):
        yield "Retry-After", str(retry_after)
