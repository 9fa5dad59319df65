"""The errors of handoffs."""

from ._root import AgentError


class HandoffFailed(AgentError):
    """The ``filter=`` of a handoff has raised, which is the cause, or has returned no messages.

    Attributes:
        tool: Name of the tool that hands over.
        why: What has happened.
    """

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"the filter= of handoff {tool!r} has failed: {why}")
        self.tool = tool
        self.why = why
