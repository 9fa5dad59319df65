"""What the answer to a webhook's request means."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from .._models._statuses import retry_after

_OK: Final = range(200, 300)
_ELSEWHERE: Final = range(300, 400)


class Failed(Exception):  # a fact that decides about the next attempt; nobody outside meets it
    """An attempt that has not delivered a part; another one may.

    Attributes:
        why: What went wrong, without secrets.
        retry_after: In how many seconds the receiver wants the next attempt; None if it does not say.
    """

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


class Unreadable(Failed):
    """An attempt to read a task that has failed: that is not the receiver's fault."""


class Gone(Exception):  # as above
    """The receiver wants nothing more, ever."""


def check_answer(status: int, headers: Mapping[str, str]) -> None:
    """Return if the part was delivered.

    Args:
        status: Of the answer.
        headers: Of the answer.

    Raises:
        Gone: The receiver wants nothing more (410).
        Failed: It was not.
    """
    if status in _OK:
        return
    if status == HTTPStatus.GONE:
        raise Gone
    why = f"the receiver answered {status}"
    if status in _ELSEWHERE:
        why += ", and redirects are not followed: remove the webhook and add it with the new URL"
    raise Failed(why, retry_after(headers))
