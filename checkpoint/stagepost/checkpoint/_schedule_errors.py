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
