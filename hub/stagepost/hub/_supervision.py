"""What happens to an agent whose handler fails."""

from collections import deque
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ._limits import Duration, count, seconds
from .errors import InvalidArgument

Verdict: TypeAlias = Literal["resume", "stop", "escalate"]


@dataclass(frozen=True, slots=True)
class Restart:
    """Make a failed agent anew, unless it fails too often; then take it off the hub.

    What is in its mailbox stays there and is handled by the new instance.

    Args:
        max: How many restarts are allowed within a period; one failure more stops the agent.
        within: That period.
        backoff: The pause before a restart; twice as long with each further one within the period.
    """

    max: int = 3
    within: Duration = 60.0
    backoff: Duration = 0.1

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        count("max", self.max)
        seconds(self.within)
        seconds(self.backoff)


Supervision: TypeAlias = Verdict | Restart
"""``"resume"``: the agent goes on. ``"stop"``: it is taken off the hub, its queue is dead. ``"escalate"``: the hub ends
with the error. `Restart`: it is made anew."""


def check_supervision(supervision: object) -> Supervision:
    """Return a supervision.

    Raises:
        InvalidArgument: It is none.
    """
    if isinstance(supervision, Restart):
        return supervision
    for verdict in get_args(Verdict):
        if supervision == verdict:
            return verdict  # type: ignore[no-any-return]  # a member of the literal
    raise InvalidArgument("supervision", supervision, 'use "resume", "stop", "escalate" or Restart(max=…)')


class Restarts:
    """Counts the restarts of one agent and decides on the next."""

    __slots__ = ("_plan", "_times")

    def __init__(self, plan: Restart) -> None:
        self._plan = plan
        self._times: deque[float] = deque()

    @property
    def count(self) -> int:
        """Those within the period."""
        return len(self._times)

    def next(self, now: float) -> float | None:
        """The pause before a restart now, in seconds; None if there were too many."""
        while self._times and now - self._times[0] > seconds(self._plan.within):
            self._times.popleft()
        if self.count >= self._plan.max:
            return None
        self._times.append(now)
        return seconds(self._plan.backoff) * 2.0 ** (self.count - 1)
