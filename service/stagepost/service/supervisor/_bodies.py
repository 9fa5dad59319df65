"""Reading requests: what does not fit is refused, with the name of the field."""

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from ..errors import Detail, InvalidBody
from ._requests import LONGEST_KEY, ChatRequest, Resumption, SessionId

_SESSION: TypeAdapter[str] = TypeAdapter(SessionId)
_YES = ("1", "true")
_NO = ("0", "false", "")


async def read_request(request: Request) -> ChatRequest:
    """The message of a request.

    Raises:
        InvalidBody: It is not one.
    """
    try:
        return ChatRequest.model_validate_json(await request.body())
    except ValidationError as error:
        raise InvalidBody("The request does not fit", details_of(error)) from None


def details_of(error: ValidationError, field: str = "") -> list[Detail]:
    """What is wrong with each field.

    Args:
        error: What is wrong.
        field: Where it is, if the error does not say.
    """
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return [
        Detail(".".join(map(str, each["loc"])) or field, each["msg"].removeprefix("Value error, ")) for each in found
    ]


def read_session(request: Request) -> str:
    """The session in the path of a request.

    Raises:
        InvalidBody: It is no UUID.
    """
    try:
        return _SESSION.validate_python(request.path_params["session_id"])
    except ValidationError as error:
        raise InvalidBody("The request does not fit", details_of(error, "session_id")) from None


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
