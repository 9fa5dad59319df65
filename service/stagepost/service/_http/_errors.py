"""Which status each error has over HTTP, and the form in which it is told."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from stagepost._dataclasses import dataclass
from stagepost.agents.errors import AgentError
from stagepost.checkpoint.errors import CheckpointError
from stagepost.hub.errors import HubError
from stagepost.workflows.errors import WorkflowError

from ..errors import Detail, InvalidBody, MalformedRequest, ServiceError

KNOWN: Final = (AgentError, CheckpointError, HubError, WorkflowError, ServiceError)

_ROWS: Final[Mapping[HTTPStatus, tuple[str, ...]]] = {
    HTTPStatus.BAD_REQUEST: (
        "AuthorizationFailed",
        "CursorRefused",
        "InputRefused",
        "InvalidCursor",
        "InvalidEventId",
        "InvalidName",
        "MalformedRequest",
    ),
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
    HTTPStatus.REQUEST_TIMEOUT: ("BodyTooSlow",),
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
        "SessionBusy",
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
        "KeyReused",
        "LabelRefused",
        "NoSender",
        "NotAnAgent",
        "UnknownChannel",
    ),
    HTTPStatus.TOO_MANY_REQUESTS: ("LoadRefused", "TooManyRequests", "TooManyStreams"),
    HTTPStatus.INTERNAL_SERVER_ERROR: ("CannotDecrypt", "TurnFailed"),
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
_AGAIN: Final = 5  # seconds after which a service that ends, or its store, may work again
_HIDDEN: Final = frozenset({"StoreClosed", "StoreLocked", "StoreLost", "StoreNotWritable", "StoreTakenOver"})


def status_of(error: BaseException) -> HTTPStatus | None:
    """The status of an error: that of its nearest class in the table; None if there is none, which nobody expects."""
    if not isinstance(error, KNOWN):
        return None
    return next((STATUSES[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in STATUSES), None)


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of an error.

    Attributes:
        status: Its status.
        kind: Its class, or the name of the status.
        message: What is wrong.
        hint: What to do about it.
        details: What is wrong in which field of a body.
        reference: Where the log has more of it.
        headers: Headers of the answer.
    """

    status: int
    kind: str
    message: str
    hint: str | None = None
    details: Sequence[Detail] = ()
    reference: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> Response:
        """The answer for programs."""
        told: dict[str, Any] = {"type": self.kind, "message": self.message}
        if self.hint is not None:
            told["hint"] = self.hint
        if self.details:
            told["details"] = [{"field": each.field, "message": each.message} for each in self.details]
        if self.reference is not None:
            told["reference"] = self.reference
        return JSONResponse({"error": told}, self.status, headers=dict(self.headers))


def told(error: BaseException) -> Told | None:
    """What is told of an error; None of one that nobody expects, whose text may have insides."""
    if isinstance(error, HTTPException):
        kind = HTTPStatus(error.status_code).phrase.title().replace(" ", "").replace("-", "")
        return Told(error.status_code, kind, error.detail, headers=error.headers or {})
    status = status_of(error)
    if status is None:
        return None
    kind = type(error).__name__
    return Told(
        status,
        kind,
        "The store cannot be used now" if kind in _HIDDEN else str(error),
        error.hint if isinstance(error, ServiceError) else None,
        error.details if isinstance(error, InvalidBody) else (),
        headers=dict(_headers(error, status)),
    )


def unexpected(reference: str) -> Told:
    """What is told of a failure that nobody expects: nothing but where the log has it."""
    return Told(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError", "Internal server error", reference=reference)


def ending() -> Told:
    """What is told to whoever is not answered any more, since the service ends."""
    why = "The service ends and has not answered; what was begun goes on in the next one"
    hint = "ask again, with the same Idempotency-Key if the request had one"
    headers = {"Retry-After": str(_AGAIN)}
    return Told(HTTPStatus.SERVICE_UNAVAILABLE, "NotServing", why, hint, headers=headers)


async def passed_on(_request: Request, error: Exception) -> Response:
    """Let what Starlette raises be answered with all other errors."""
    raise error


def _headers(error: BaseException, status: HTTPStatus) -> Iterator[tuple[str, str]]:
    if status == HTTPStatus.UNAUTHORIZED:
        yield "WWW-Authenticate", 'Bearer realm="stagepost"'
    if status == HTTPStatus.REQUEST_TIMEOUT or isinstance(error, MalformedRequest):  # what follows may be no request
        yield "Connection", "close"
    retry_after = getattr(error, "retry_after", None)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        retry_after = retry_after or _AGAIN
    if isinstance(retry_after, int):
        yield "Retry-After", str(retry_after)
