"""Which errors of an act are said on its page: those by which a run, or what was typed, refuses it."""

from http import HTTPStatus
from typing import Final

from .._http._errors import status_of

_SAID: Final = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT, HTTPStatus.GONE, HTTPStatus.UNPROCESSABLE_ENTITY}
)
_WITH_ITS_RUN: Final = frozenset({"CallNotInDoubt", "EffectNotFound", "NotInHistory", "UnknownSignal", "WaitNotFound"})


def said_as(error: Exception) -> HTTPStatus:
    """The status of a page that says why something was refused.

    Raises:
        Exception: The error itself, if it is no refusal: the key does not allow it, there is no such run, the service
            cannot do its work.
    """
    status = status_of(error)
    if status in _SAID or type(error).__name__ in _WITH_ITS_RUN:
        return status or HTTPStatus.CONFLICT
    raise error
