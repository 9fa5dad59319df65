"""What receives the messages of an agent, as the hub sees it: its endpoint, or the endpoints of its instances."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from ._bell import Bell
from ._callers import NOBODY
from ._envelope import Envelope, EnvelopeState
from ._events import DeadReason
from ._metrics import AgentMetrics
from ._tally import Tally
from .errors import DeliveryError


class Receiver(Protocol):
    """What receives the messages of an agent."""

    @property
    def id(self) -> str:
        """The agent's id."""

    @property
    def tally(self) -> Tally:
        """The counts of its messages."""

    @property
    def bell(self) -> Bell:
        """Rings when something changes that may let it end."""

    @property
    def depth(self) -> int:
        """How many messages wait."""

    @property
    def blocked(self) -> int:
        """How many senders wait for room."""

    def metrics(self, refused: int, /) -> Callable[[], AgentMetrics]:
        """Take a snapshot of counts and state; the result builds the value from it."""

    def handling(self, spared: AbstractSet[object] = ..., /) -> list[Envelope]:
        """The envelopes being handled, except those to spare."""

    def stuck(self, held: AbstractSet[object], /) -> Sequence[Envelope]:
        """What is queued or waits for room, and cannot start before one of the given handlers or hooks ends."""

    def stuck_depth(self, held: AbstractSet[object], /) -> int:
        """How much of that is queued."""

    def close(self, on_left: Callable[[], None], /) -> None:
        """Let the workers end once everything here is handled; the last one calls back."""

    def abort(
        self, refusal: Callable[[str], DeliveryError], reason: DeadReason, spared: AbstractSet[object] = NOBODY, /
    ) -> Iterator[tuple[Envelope, EnvelopeState]]:
        """Close at once, one message per step."""

    async def left(self, held: Callable[[], AbstractSet[object]], /) -> None:
        """Wait until the last worker has ended, or all that is left waits for one of those named."""
