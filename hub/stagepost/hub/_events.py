"""The events of a hub."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from ._message import MessageType
from ._observer import Event, Level


class DeadReason(StrEnum):
    """Why an accepted message was never handled."""

    EXPIRED = "expired"
    RECIPIENT_GONE = "recipient gone"
    HUB_STOPPED = "hub stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubEvent(Event):
    """Something that happened on a hub.

    Attributes:
        hub: The hub's name.
    """

    hub: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOpened(HubEvent):
    """The hub was entered."""

    level: ClassVar[Level] = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubClosed(HubEvent):
    """The hub was left and none of its tasks lives on."""

    level: ClassVar[Level] = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRegistered(HubEvent):
    """An agent is on the hub now.

    Attributes:
        agent: Its id.
    """

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUnregistered(HubEvent):
    """An agent left the hub, its last handler has ended.

    Attributes:
        agent: Its id.
    """

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEvent(HubEvent):
    """Something that happened to a message.

    Attributes:
        message_id: The message.
        type: Request, notification or broadcast.
        sender: The agent that sent it, if one did.
        recipient: The agent it is for.
        payload: The name of the payload's class.
        trace: The trace it belongs to.
        age: Seconds since it was sent.
    """

    message_id: str
    type: MessageType
    sender: str | None
    recipient: str
    payload: str
    trace: str
    age: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAccepted(MessageEvent):
    """The recipient's mailbox took the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStarted(MessageEvent):
    """The recipient's handler begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageHandled(MessageEvent):
    """The handler returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFailed(MessageEvent):
    """The handler raised.

    Attributes:
        error: The name of the error's class.
    """

    level: ClassVar[Level] = "warning"

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCancelled(MessageEvent):
    """The requester no longer waits, or the recipient had to stop, and the handler was cancelled or never began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDead(MessageEvent):
    """An accepted message will never be handled.

    Attributes:
        reason: Why.
    """

    level: ClassVar[Level] = "warning"

    reason: DeadReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyLate(MessageEvent):
    """A handler returned when its requester no longer waited. The reply reaches nobody."""
