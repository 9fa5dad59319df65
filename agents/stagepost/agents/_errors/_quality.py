"""The errors of checking answers."""

from ._root import AgentError


class InvalidCriteria(AgentError, ValueError):
    """A check of answers is built in a way that could never decide anything."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


class InvalidEvaluation(AgentError, ValueError):
    """An evaluation has two agents or cases of one name, or none."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
