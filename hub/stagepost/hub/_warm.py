"""Which agents keep idle workers: a task that rests is most of an agent's memory."""

from collections import deque
from typing import Final, Protocol

WARM_KEPT: Final = 1000
_LOOKS: Final = 4


class Crew(Protocol):
    """The workers of one agent, as the others see them."""

    def cool(self) -> bool:
        """Let the idle workers end, unless the agent has worked since it was asked last; False if it keeps them."""


class Warm:
    """The agents that have workers, up to a limit; beyond it, those that have rested longest give theirs up.

    Nothing is done here for a message that finds a worker. When an agent needs its first one, some others are asked,
    the one that was asked longest ago first, whether they have worked since (the second chance of the clock algorithm),
    so the limit is exceeded by a quarter at most, and by agents that are all at work.

    Attributes:
        limit: How many agents keep their workers.
    """

    __slots__ = ("_agents", "limit")

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._agents: deque[Crew] = deque()

    def admit(self, crew: Crew) -> None:
        """Add an agent that is about to have its first worker."""
        agents = self._agents
        agents.append(crew)
        for _ in range(_LOOKS):
            if len(agents) <= self.limit:
                return
            oldest = agents.popleft()
            if not oldest.cool():
                agents.append(oldest)
