"""What can go wrong with the history of a run."""

from ._root_error import CheckpointError


class NotInHistory(CheckpointError, LookupError):
    """The history of a run has no version of this number.

    Attributes:
        run_id: The run.
        number: The number.
        last: The highest that there is; 0 if there is none.
        keeps: Whether the run keeps a history.
    """

    def __init__(self, run_id: str, number: int, last: int, *, keeps: bool) -> None:
        why = (
            f"its history has the numbers 1 to {last}"
            if keeps
            else "it keeps no history: start runs with keep='all' that are to be forked from where they have been"
        )
        super().__init__(f"run {run_id!r} has no version {number}: {why}")
        self.run_id = run_id
        self.number = number
        self.last = last
        self.keeps = keeps
