"""The root of all errors of this layer."""


class AgentError(Exception):
    """Root of all errors of this layer."""
