"""What can be started."""

from typing import Literal

from ._output import Output, RunStatusName


class WorkflowRow(Output):
    """A workflow that the service knows."""

    name: str
    """Its name."""
    version: int
    """Its version."""
    kind: Literal["agent", "workflow"]
    """Whether it is started with a request, as an agent, or with a state."""
    signals: list[str]
    """The signals that its runs receive."""


class WorkflowList(Output):
    """What can be started."""

    workflows: list[WorkflowRow]
    """By name and version, with the workflows that belong to others."""


class RunStarted(Output):
    """A run that was started, or that was there."""

    run_id: str
    """Its id."""
    workflow: str
    """Name of its workflow."""
    status: RunStatusName
    """Where it stands."""
