"""Times as the tables keep them: microseconds since 1970."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)  # what is later is no time


def to_micros(seconds: float) -> int:
    """Microseconds since 1970 of a clock's seconds."""
    return round(seconds * 1_000_000)


def to_time(micros: int) -> datetime:
    """The UTC time of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
