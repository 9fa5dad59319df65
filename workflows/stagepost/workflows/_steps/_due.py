"""When waits are due."""

from datetime import UTC, datetime

from .._execution._execution import Execution


def due_in(length: float, execution: Execution) -> datetime:
    """So many seconds from now, by the run's clock."""
    return moment(execution.clock() + length)


def moment(since_1970: float) -> datetime:
    """A time in seconds since 1970 as a `datetime`."""
    return datetime.fromtimestamp(since_1970, UTC)
