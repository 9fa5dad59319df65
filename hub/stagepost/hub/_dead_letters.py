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

    __slots__ = ("_kept", "_stamps", "_taken")

    def __init__(self, limit: int, stamps: Stamps) -> None:
        self._kept: deque[tuple[Envelope, DeadReason, float]] = deque(maxlen=limit)
        self._stamps = stamps
        self._taken: set[str] = set()

    def add(self, envelope: Envelope, reason: DeadReason) -> None:
        """Keep one, and drop the oldest if there are too many."""
        self._kept.append((envelope, reason, self._stamps.clock()))

    def read(self) -> tuple[DeadLetter, ...]:
        """All that are kept, oldest first."""
        return tuple(map(self._letter, self._kept))

    def take(self, message_id: str) -> DeadLetter | None:
        """The letter of a message, for whoever sends it again; None if there is none, or somebody else has it now."""
        if message_id in self._taken:
            return None
        found = next((letter for letter in map(self._letter, self._kept) if letter.message.id == message_id), None)
        if found is not None:
            self._taken.add(message_id)
        return found

    def give_back(self, message_id: str, *, is_sent: bool) -> None:
        """Whoever has taken a letter has sent it, and so it is no longer dead; or has not."""
        self._taken.discard(message_id)
        if is_sent:
            others = [kept for kept in self._kept if self._letter(kept).message.id != message_id]
            self._kept = deque(others, maxlen=self._kept.maxlen)

    def _letter(self, kept: tuple[Envelope, DeadReason, float]) -> DeadLetter:
        envelope, reason, at = kept
        return DeadLetter(message=self._message(envelope, reason), reason=reason, at=self._stamps.wall(at))

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
