"""Where a run of a task's tree stands, as far as what is told of it has to be compared with that."""

from typing import NamedTuple

from .._context._view import WHOLE, View


class Standing(NamedTuple):
    """Where a run stands once the parts of a read were told.

    Attributes:
        path: Names of the agents from the root to the one that has the run.
        turn: Number of the next turn: that of the answer which was not told yet.
        view: What its model sees.
    """

    path: tuple[str, ...]
    turn: int
    view: View = WHOLE
