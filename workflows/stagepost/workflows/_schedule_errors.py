"""What concerns schedules and limits."""

from ._root_error import WorkflowError


class ScheduleRefused(WorkflowError, ValueError):
    """A schedule cannot be as it was asked for; nothing was changed.

    Attributes:
        key: The schedule.
        reason: Why.
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(f"schedule {key!r} is refused: {reason}")
        self.key = key
        self.reason = reason


class ScheduleNotReadable(WorkflowError):
    """What is stored of a schedule makes no sense to this version of stagepost; it starts nothing.

    Attributes:
        key: The schedule.
        reason: Why it cannot be read.
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(
            f"what is stored of schedule {key!r} makes no sense to this version of stagepost ({reason}): "
            "make it again by Runner.schedule, or delete it"
        )
        self.key = key
        self.reason = reason


class ScheduleConflict(WorkflowError):
    """A schedule of this key starts runs of another workflow.

    Attributes:
        key: The schedule.
        workflow: The other workflow.
    """

    def __init__(self, key: str, workflow: str) -> None:
        super().__init__(
            f"schedule {key!r} starts runs of workflow {workflow!r}: give another key, or replace=True "
            "to have it start others from now on"
        )
        self.key = key
        self.workflow = workflow
