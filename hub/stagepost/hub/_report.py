"""The report of a publication."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from stagepost._dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Who got a publication or a broadcast, by id. For each recipient that did not get it there is a dead letter.

    Attributes:
        delivered: Recipients whose mailbox took it.
        full: Recipients without room in time.
        not_handled: Subscribers that take no payload of this class.
        stopped: Recipients that left while it waited for room.
        trace: The trace of its messages, and of all that is sent because of them: `Hub.lost` says what was lost in it.
            None if nobody was to get it, unless a trace was given or inherited. Not compared.
    """

    delivered: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    not_handled: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    trace: str | None = field(default=None, compare=False)

    @property
    def lost(self) -> tuple[str, ...]:
        """The recipients that should have got it and did not."""
        return (*self.full, *self.not_handled, *self.stopped)

    @property
    def reached_nobody(self) -> bool:
        """Whether no mailbox took it. If nobody subscribed to the topic, it is complete all the same."""
        return not self.delivered

    def __str__(self) -> str:
        missed = [f"{len(who)} {name}" for name, who in self._missed.items() if who]
        if self.reached_nobody:
            return f"reached nobody: {', '.join(missed) or 'nobody subscribes to this'}"
        return ", ".join([f"reached {len(self.delivered)}", *missed])

    @property
    def _missed(self) -> Mapping[str, Sequence[str]]:
        return {"had no room": self.full, "do not handle it": self.not_handled, "left": self.stopped}

    @property
    def complete(self) -> bool:
        """Whether every subscriber got it; also true if there was none."""
        return not self.lost
