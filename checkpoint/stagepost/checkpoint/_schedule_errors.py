"""What concerns schedules."""

from ._root_error import CheckpointError


class ScheduleNotFound(CheckpointError, LookupError):
    """The store has no schedule of this key.

    Attributes:
        key: The key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"no schedule {key!r} in this store: it was never made here, or was deleted")
        self.key = key


class CorruptSchedule(CheckpointError):
    """What is stored of a schedule cannot be used; other schedules are not concerned.

    Attributes:
        key: The schedule.
        reason: What was found.
        run_id: None, since it is no run.
    """

    run_id: None = None

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(
            f"what is stored of schedule {key!r} cannot be used ({reason}), and it starts nothing: make it again by "
            "Runner.schedule, or delete it; others are not concerned"
        )
        self.key = key
        self.reason = reason


class ScheduleChanged(CheckpointError):
    """Somebody else has saved a schedule since it was read; nothing was saved.

    Attributes:
        key: The schedule.
        revision: The revision that was to be replaced; 0: it was to be a new one.
    """

    def __init__(self, key: str, revision: int) -> None:
        what = f"is not at revision {revision} any more" if revision else "exists already"
        super().__init__(f"schedule {key!r} {what}: read it again, and decide anew")
        self.key = key
        self.revision = revision
