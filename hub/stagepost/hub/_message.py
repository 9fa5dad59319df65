"""The message that handlers and middleware see."""

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum, StrEnum
from typing import Generic, TypeVar

from stagepost._dataclasses import dataclass

from ._headers import NO_HEADERS, read_headers

PayloadT_co = TypeVar("PayloadT_co", covariant=True)


class MessageType(StrEnum):
    """The kind of a message."""

    REQUEST = "request"
    RESPONSE = "response"
    NOTIFICATION = "notification"
    BROADCAST = "broadcast"


class Priority(IntEnum):
    """How urgent a message is; larger is more urgent."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Generic[PayloadT_co]):
    """One message, immutable: the payload and its metadata.

    Attributes:
        id: Unique, and sorts by time: milliseconds, the hub's random part and a counter, in hexadecimal.
        sender: The agent that sent it, or None for code outside any agent.
        recipient: The agent it is for.
        type: Request, response, notification (one way) or broadcast.
        data: The payload, shared with the sender and never copied: do not change it.
        timestamp: When it was sent, in Unix seconds.
        reply_to: For a response, the id of the request it answers.
        topic: For a publication, the topic it was published to.
        priority: How urgent it is.
        headers: Free text values that travel with it; read only.
        deadline: When the answer to a request is due, or a one-way message expires, in Unix seconds; None without a
            limit.
        cause: The id of the message during whose handling this one was sent.
        chain: The agents that wait, each for the next, until this request is answered; the requester is the last.
        trace: The trace it belongs to: given by the first sender (a W3C traceparent, an id of your own), inherited by
            everything that the handling of the message sends, or else the id of the first message.
    """

    id: str
    sender: str | None
    recipient: str
    type: MessageType
    data: PayloadT_co
    timestamp: float
    reply_to: str | None = None
    topic: str | None = None
    priority: Priority = Priority.NORMAL
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)
    deadline: float | None = None
    cause: str | None = None
    chain: tuple[str, ...] = ()
    trace: str

    def __post_init__(self) -> None:
        """Refuse headers that are not text, and make them immutable."""
        if self.headers is not NO_HEADERS:
            object.__setattr__(self, "headers", read_headers(self.headers))

    def __hash__(self) -> int:
        return hash(self.id)
