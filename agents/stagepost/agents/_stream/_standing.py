"""Where a run of a task's tree stands, as far as what is told of it has to be compared with that."""

from typing import NamedTuple

from .._context._view import View


class Standing(NamedTuple):
    """Where a run stands whose parts are not covered by the result of the call that has started it.

    Attributes:
        path: Names of the agents from the root to the one that has the run.
        turn: Number of its next turn.
        view: What its model sees; None for everything.
    """

    path: tuple[str, ...]
    turn: int
    view: View | None = None
