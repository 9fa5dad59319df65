"""The hub's record of a message in flight. The frozen `Message` is built from it only when somebody looks at it."""

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, Protocol

from ._deadlines import Bucket
from ._handlers import Handler
from ._headers import NO_HEADERS
from ._message import Message, MessageType, Priority
from ._stamps import Stamps
from ._tally import Tally
from ._wake import Waiter
from .errors import MailboxFull, RequestTimeout


class EnvelopeState(Enum):
    """The state of an envelope.

    A message without room is BLOCKED and still belongs to its sender: it is TURNED_AWAY, which ends it uncounted and
    usually raises at the sender, or becomes QUEUED, which is the moment of acceptance. From then on it ends once, and
    the account counts it: from QUEUED as cancelled or dead, from RUNNING as handled, failed or cancelled.

    The state says where the envelope is: whoever takes it out of the line of blocked senders, the queue or a worker
    changes it in the same step.
    """

    BLOCKED = 1
    QUEUED = 2
    RUNNING = 3
    ENDED = 4
    TURNED_AWAY = 5


_STAGES: dict[EnvelopeState, Literal["room", "turn", "handler"]] = {
    EnvelopeState.BLOCKED: "room",
    EnvelopeState.QUEUED: "turn",
    EnvelopeState.RUNNING: "handler",
    EnvelopeState.ENDED: "handler",
    EnvelopeState.TURNED_AWAY: "room",
}
NEVER: Final = math.inf
# Looked up once: a look-up costs as much as several assignments.
_BLOCKED, _TURNED_AWAY = EnvelopeState.BLOCKED, EnvelopeState.TURNED_AWAY
_REQUEST: Final = MessageType.REQUEST


class Trail(NamedTuple):
    """What a message inherits from the message during whose handling it was sent.

    Attributes:
        cause: The id of that message, unless the sender says otherwise.
        trace: The trace it belongs to.
        chain: The agents that wait for a request.
        within: The agent that handles that message, and its number, as long as the handler may wait for what it sent.
    """

    cause: str | None = None
    trace: str | None = None
    chain: tuple[str, ...] = ()
    within: tuple[str, int] | None = None


NO_TRAIL = Trail()


class Terms(NamedTuple):
    """Attributes that most messages leave at their defaults, in one shared value."""

    headers: Mapping[str, str] = NO_HEADERS
    priority: Priority = Priority.NORMAL
    topic: str | None = None


STANDARD = Terms()


class Recipient(Protocol):
    """The recipient of an envelope, as the envelope sees it."""

    @property
    def id(self) -> str:
        """The agent's id."""

    @property
    def detach(self) -> bool:
        """Whether handlers continue when the requester no longer waits."""

    @property
    def tally(self) -> Tally:
        """The counts of the agent."""

    def expire(self, envelope: "Envelope", /) -> None:
        """The deadline of an envelope has passed."""

    def withdraw(self, envelope: "Envelope", /) -> None:
        """The sender of an envelope no longer waits."""

    def arm(self, envelope: "Envelope", /) -> None:
        """Let an envelope expire when its deadline passes."""


class Occupant(Protocol):
    """The worker that handles an envelope, as the envelope sees it."""

    @property
    def engine(self) -> object:
        """The engine that it shares with the other workers of its hub."""

    @property
    def is_cancelled(self) -> bool:
        """Whether the handler was cancelled."""

    def interrupt(self) -> None:
        """Cancel the handler."""


class Envelope:
    """One message for one recipient.

    Attributes:
        waiter: What the sender awaits: the answer of a request, or room. None if nobody waits (any more).
        deadline: When the answer to a request is due, or a one-way message expires, on the hub's clock; infinity
            without a limit.
        bucket: The bucket of its deadline.
        reply: The answer, once it is there.
        error: The error that the sender gets instead.
        first: For a forwarded request, the envelope that its requester holds.
        last: For the first envelope of a forwarded request, the one that has to be answered now.
    """

    __slots__ = (
        "bucket",
        "deadline",
        "error",
        "first",
        "handler",
        "last",
        "number",
        "payload",
        "recipient",
        "reply",
        "sender",
        "sent",
        "state",
        "terms",
        "trail",
        "type",
        "waiter",
        "worker",
    )

    def __init__(  # noqa: PLR0917 - made for every message; keywords would double the cost of the call
        self,
        recipient: Recipient,
        handler: Handler,
        payload: object,
        type_: MessageType,
        sender: str | None,
        terms: Terms,
        trail: Trail,
        number: int,
        sent: float,
    ) -> None:
        self.recipient = recipient
        self.handler = handler
        self.payload = payload
        self.type = type_
        self.sender = sender
        self.terms = terms
        self.trail = trail
        self.number = number
        self.sent = sent
        self.deadline = NEVER
        self.waiter: Waiter | None = None
        self.state = _BLOCKED
        self.bucket: Bucket | None = None
        self.worker: Occupant | None = None
        self.reply: object = None
        self.error: BaseException | None = None
        self.last: Envelope | None = None
        self.first: Envelope | None = None

    def expire(self) -> None:
        """The deadline has passed; called by `Deadlines`."""
        self.recipient.expire(self)

    def refuse(self, error: BaseException) -> None:
        """End the sender's wait with an error, if it waits."""
        if self.waiter is not None:
            self.error = error
            self.release()

    def release(self) -> None:
        """Wake a waiting sender, and remove the deadline."""
        waiter, self.waiter = self.waiter, None
        if self.bucket is not None:
            self.bucket.pop(self, None)
            self.bucket = None
        if waiter is None:
            return
        if self.sender is not None and self.type is _REQUEST:
            self.recipient.tally.note_over(self.sender)
        if not waiter.done():
            waiter.set_result(None)

    def hand_on(self, successor: "Envelope") -> None:
        """Pass the obligation to answer to another envelope."""
        first = successor.first = self.first or self
        first.last = successor
        successor.deadline = self.deadline
        if self.waiter is not None and self.sender is not None:
            successor.recipient.tally.note_open(self.sender)
            self.recipient.tally.note_over(self.sender)
        successor.waiter, self.waiter = self.waiter, None
        self.release()

    def give_up(self) -> None:
        """The sender no longer waits. The obligation to answer may have moved to another envelope meanwhile."""
        debtor = self.last or self
        debtor.release()
        debtor.recipient.withdraw(debtor)

    @property
    def is_forwarded(self) -> bool:
        """Whether its obligation to answer has moved to another envelope."""
        first = self.first or self
        return first.last is not None and first.last is not self

    def timed_out(self) -> RequestTimeout:
        """The error for a requester whose time is up."""
        return RequestTimeout(self.recipient.id, self.deadline - self.sent, self.stage)

    @property
    def stage(self) -> Literal["room", "turn", "handler"]:
        """What it waits for."""
        return _STAGES[self.state]

    def raise_refusal(self) -> None:
        """Raise the error that was meant for the sender, if there is one."""
        if self.error is not None:
            error, self.error = self.error, None  # keeping it would create a reference cycle through its traceback
            raise error

    def was_refused_by(self, error: BaseException) -> bool:
        """Whether it ended with this error without being accepted."""
        if isinstance(error, MailboxFull):
            return not error.dropped
        return self.state is _TURNED_AWAY

    def id(self, stamps: Stamps) -> str:
        """The message's id."""
        return stamps.message_id(self.number, self.sent)

    def trace(self, stamps: Stamps) -> str:
        """The trace it belongs to; without one, its own id."""
        return self.trail.trace or self.id(stamps)

    def inherited_deadline(self) -> float:
        """The deadline for requests made while handling it; a detached handling outlives its requester and has none."""
        return math.inf if self.recipient.detach or self.type is not MessageType.REQUEST else self.deadline

    def message(self, stamps: Stamps) -> Message[Any]:
        """The `Message` that handlers see."""
        deadline = math.inf if self.type is MessageType.REQUEST and self.recipient.detach else self.deadline
        terms = self.terms
        return Message(
            id=self.id(stamps),
            sender=self.sender,
            recipient=self.recipient.id,
            type=self.type,
            data=self.payload,
            timestamp=stamps.wall(self.sent),
            topic=terms.topic,
            priority=terms.priority,
            headers=terms.headers,
            deadline=None if deadline == math.inf else stamps.wall(deadline),
            cause=self.trail.cause,
            chain=self.trail.chain,
            trace=self.trace(stamps),
        )
