"""Dead letters: messages that were never handled, the latest of which are kept."""

from collections import deque
from typing import Any

from stagepost._dataclasses import dataclass

from ._envelope import Envelope
from ._events import DeadReason
from ._message import Message, MessageType
from ._stamps import Stamps


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A message that nobody handled, or a reply whose requester had given up.

    Attributes:
        message: The whole message. A late reply is a message of the type response, from the agent that replied; its
            ``reply_to`` is the request.
        reason: Why it is dead.
        at: When it died, in Unix seconds.
    """

    message: Message[Any]
    reason: DeadReason
    at: float


class DeadLetters:
    """The latest dead letters of a hub, up to a limit. `Message` values are built only when somebody reads them."""

    __slots__ = ("_kept", "_stamps")

    def __init__(self, limit: int, stamps: Stamps) -> None:
        self._kept: deque[tuple[Envelope, DeadReason, float]] = deque(maxlen=limit)
        self._stamps = stamps

    def add(self, envelope: Envelope, reason: DeadReason) -> None:
        """Keep one, and drop the oldest if there are too many."""
        self._kept.append((envelope, reason, self._stamps.clock()))

    def read(self) -> tuple[DeadLetter, ...]:
        """All that are kept, oldest first."""
        return tuple(
            DeadLetter(message=self._message(envelope, reason), reason=reason, at=self._stamps.wall(at))
            for envelope, reason, at in self._kept
        )

    def _message(self, envelope: Envelope, reason: DeadReason) -> Message[Any]:
        message = envelope.message(self._stamps)
        if reason is not DeadReason.LATE_REPLY:
            return message
        return Message(
            id=f"{message.id}-reply",
            sender=message.recipient,
            recipient=message.sender or "",
            type=MessageType.RESPONSE,
            data=envelope.reply,
            timestamp=message.timestamp,
            reply_to=message.id,
            cause=message.id,
            trace=message.trace,
        )
