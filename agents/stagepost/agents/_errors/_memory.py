"""The errors of memories."""

from ._root import AgentError


class MemoryUnavailable(AgentError):
    """An agent uses its memory in a run that has none: a run in memory, or a run without the key of its scope.

    Attributes:
        agent: Name of the agent.
        memory: Name of the memory.
        why: What is missing, and what to do about it.
    """

    def __init__(self, agent: str, memory: str, why: str) -> None:
        super().__init__(f"agent {agent!r} cannot use its memory {memory!r}: {why}")
        self.agent = agent
        self.memory = memory
        self.why = why
