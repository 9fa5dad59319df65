"""Supervision: what happens to an agent whose handler fails."""

import math
from collections import deque
from typing import Final, Literal, TypeAlias, get_args

from stagepost._dataclasses import dataclass

from ._limits import Duration, count, seconds
from .errors import InvalidArgument

_DOUBLINGS: Final = 512
_REMEMBERED: Final = 1024

Verdict: TypeAlias = Literal["resume", "stop", "escalate"]


@dataclass(frozen=True, slots=True)
class Restart:
    """Make a new instance of a failed agent, unless it fails too often; then remove it from the hub.

    The mailbox is kept and handled by the new instance.

    A restart waits a second for other handlers of the agent. Those that take longer continue with the old instance,
    whose ``on_stop`` runs after them, while the new one handles new messages.

    Args:
        max: How many restarts are allowed within a period; another failure stops the agent. None for any number.
        within: The period; None for the agent's whole lifetime.
        backoff: The delay before a restart; doubled with each further one within the period.
        max_backoff: The longest delay; None for no limit.
    """

    max: int | None = 3
    within: Duration | None = 60.0
    backoff: Duration = 0.1
    max_backoff: Duration | None = 60.0

    def __post_init__(self) -> None:
        """Refuse invalid values."""
        count("max", self.max)
        seconds(self.within, "within")
        seconds(self.max_backoff, "max_backoff")
        if seconds(self.backoff, "backoff") == math.inf:
            raise InvalidArgument("backoff", self.backoff, "use seconds from 0 up, or a timedelta")


Supervision: TypeAlias = Verdict | Restart
"""``"resume"``: the agent continues. ``"stop"``: it is removed from the hub, and its queue is dead. ``"escalate"``: the
hub ends with the error. `Restart`: it gets a new instance."""


def check_supervision(supervision: object) -> Supervision:
    """Return a supervision.

    Raises:
        InvalidArgument: The value is not one.
    """
    if isinstance(supervision, Restart):
        return supervision
    for verdict in get_args(Verdict):
        if supervision == verdict:
            return verdict  # type: ignore[no-any-return]  # a member of the literal
    raise InvalidArgument("supervision", supervision, 'use "resume", "stop", "escalate" or Restart(max=…)')


class Restarts:
    """Counts the restarts of one agent and decides on the next."""

    __slots__ = ("_plan", "_times", "count")

    def __init__(self, plan: Restart) -> None:
        self._plan = plan
        self._times: deque[float] = deque(maxlen=_REMEMBERED if plan.max is None else None)
        self.count = 0

    def next(self, now: float) -> float | None:
        """The delay before a restart now, in seconds; None if there were too many.

        `count` is the number of restarts within the period, this one included.
        """
        plan = self._plan
        while self._times and now - self._times[0] > seconds(plan.within):
            self._times.popleft()
        if len(self._times) >= count("max", plan.max):
            return None
        self._times.append(now)
        self.count = len(self._times)
        first = seconds(plan.backoff)
        return min(first * 2.0 ** min(self.count - 1, _DOUBLINGS), max(first, seconds(plan.max_backoff)))
