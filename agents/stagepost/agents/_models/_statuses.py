"""What the HTTP statuses of providers mean."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

from ..errors import ContextTooLong, ModelError, ModelRejected, ModelTimeout, ModelUnavailable, RateLimitReached
from ._overflow import is_overflow

_LONGEST: Final = 500  # characters of a provider's text
_PASSING: Final = frozenset({HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY})  # and all of a server's own faults


def status_error(model: str, status: int, headers: Mapping[str, str], detail: str, *, attempt: int = 1) -> ModelError:
    """The error that a status stands for.

    Args:
        model: Name of the model.
        status: 400 or more.
        headers: The answer's headers: ``retry-after`` may say when to come again.
        detail: What the provider says, without secrets.
        attempt: Which attempt it was, from 1.
    """
    if is_overflow(status, detail):
        return ContextTooLong(model, f"status {status}: {detail}", attempt=attempt, status=status)
    after = retry_after(headers)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimitReached(model, detail, attempt=attempt, retry_after=after)
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return ModelTimeout(model, detail, attempt=attempt, retry_after=after)
    if status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelUnavailable(model, f"status {status}: {detail}", attempt=attempt, retry_after=after)
    return ModelRejected(model, f"status {status}: {detail}", attempt=attempt, status=status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a provider wants to be left alone, from its headers: a number or a date."""
    named = {name.lower(): value for name, value in headers.items()}
    text = named.get("retry-after")
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        return _until(text)


def shortened(text: str) -> str:
    """A provider's text in one line of a length that a log can bear."""
    return " ".join(text.split())[:_LONGEST].rstrip(". ")


def _until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
