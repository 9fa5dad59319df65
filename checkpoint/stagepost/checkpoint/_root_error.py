"""The root of this layer's errors, apart from them so that they can be in several modules."""

from stagepost.hub import FactError


class CheckpointError(FactError):
    """Root of all errors of this layer."""
