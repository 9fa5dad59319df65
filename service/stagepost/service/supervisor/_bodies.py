"""Reading requests: what does not fit is refused, with the name of the field."""

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from .._http._bodies import details
from ..errors import Detail, InvalidBody
from ._requests import LONGEST_KEY, Resumption, SessionId

_SESSION: TypeAdapter[str] = TypeAdapter(SessionId)
_YES = ("1", "true")
_NO = ("0", "false", "")


def read_session(request: Request) -> str:
    """The session in the path of a request.

    Raises:
        InvalidBody: It is no UUID.
    """
    try:
        return _SESSION.validate_python(request.path_params["session_id"])
    except ValidationError as error:
        found = [Detail("session_id", each.message) for each in details(error)]
        raise InvalidBody("The request does not fit", found) from None


def read_resumption(request: Request) -> Resumption:
    """What a request says about others of its session.

    Raises:
        InvalidBody: The key, or ``detach``, does not fit.
    """
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        why = f"1 to {LONGEST_KEY} printable ASCII characters are expected"
        raise InvalidBody("The request does not fit", [Detail("Idempotency-Key", why)])
    detach = request.query_params.get("detach", "").lower()
    if detach not in (*_YES, *_NO):
        raise InvalidBody("The request does not fit", [Detail("detach", "true or false is expected")])
    return Resumption(key=key, after=request.headers.get("last-event-id") or None, detach=detach in _YES)
