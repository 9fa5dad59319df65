"""Reading requests: what does not fit is refused, with the name of the field."""

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from .._http._bodies import details
from .._http._runs._reading import LONGEST_KEY, read_query
from ..errors import Detail, InvalidBody
from ._operations import ChatAsked
from ._requests import Resumption, SessionId

_SESSION: TypeAdapter[str] = TypeAdapter(SessionId)


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
    detach = read_query(request.query_params, ChatAsked).detach
    return Resumption(key=key, after=request.headers.get("last-event-id") or None, detach=detach)
