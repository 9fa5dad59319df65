"""What concerns whose a run is, and what was written for it from outside."""

from ._root_error import CheckpointError


class CancelRequested(CheckpointError):
    """Somebody has requested the run's end, or that of a run above it: nothing else is committed to it any more."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id!r} is being cancelled: nothing of this commit was saved")
        self.run_id = run_id


class OwnershipLost(CheckpointError):
    """Another owner has claimed the run since: this one must stop working on it."""

    def __init__(self, run_id: str, epoch: int, now: int) -> None:
        super().__init__(
            f"run {run_id!r} has another owner (epoch {now}, ours was {epoch}): "
            "this process must not go on with it, and nothing of its last commit was saved",
        )
        self.run_id = run_id
        self.epoch = epoch
        self.now = now


class OwnerExpired(CheckpointError):
    """An owner has missed its heartbeats, so that others may have its runs: it comes back as a new one, by `join`.

    Attributes:
        owner: Its name.
    """

    def __init__(self, owner: str) -> None:
        super().__init__(
            f"owner {owner!r} has missed its heartbeats, and its runs are others': leave them alone, and join again",
        )
        self.owner = owner


class RunOwned(CheckpointError):
    """A living owner has the run.

    Attributes:
        run_id: The run.
        owner: The owner's name.
    """

    def __init__(self, run_id: str, owner: str) -> None:
        super().__init__(
            f"run {run_id!r} is worked on by {owner!r}: wait until it ends or rests, or claim it with force=True, "
            "which takes it away from there",
        )
        self.run_id = run_id
        self.owner = owner


class NewsFirst(CheckpointError):
    """Something was written for the run that its owner has not heard of: it does not end before that.

    Attributes:
        run_id: The run.
    """

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id!r} was sent something that its owner has not heard of: nothing of this commit was saved; "
            "hear it (news), and commit again",
        )
        self.run_id = run_id
