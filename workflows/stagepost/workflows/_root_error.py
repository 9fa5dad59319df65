"""The root of all errors of this layer."""

from stagepost.hub import FactError


class WorkflowError(FactError):
    """Root of all errors of this layer."""
