"""What became of a publication."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Who got a publication or a broadcast, by id. Whoever did not get it has a dead letter.

    Attributes:
        delivered: Those whose mailbox took it.
        full: Those who had no room in time.
        not_handled: Subscribers that take no payload of this class.
        stopped: Those who left while it waited for room.
    """

    delivered: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    not_handled: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[str, ...]:
        """Those who should have got it and did not."""
        return (*self.full, *self.not_handled, *self.stopped)

    @property
    def reached_nobody(self) -> bool:
        """Whether nobody got it, be it that nobody subscribed."""
        return not self.delivered

    @property
    def complete(self) -> bool:
        """Whether everybody who subscribed got it; also if nobody did."""
        return not self.lost
