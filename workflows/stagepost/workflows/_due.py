"""When waits are due."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._context import StepContext


def due_in(length: float, context: "StepContext") -> datetime:
    """So many seconds from now, by the run's clock."""
    return moment(context.execution.clock() + length)


def moment(since_1970: float) -> datetime:
    """A time in seconds since 1970 as a `datetime`."""
    return datetime.fromtimestamp(since_1970, UTC)
