"""The events of a hub."""

from enum import StrEnum
from typing import ClassVar

from stagepost._dataclasses import dataclass

from ._message import MessageType
from ._observer import Event, Level


class DeadReason(StrEnum):
    """Why a message was never handled."""

    EXPIRED = "expired"
    MAILBOX_FULL = "mailbox full"
    DROPPED = "dropped"
    UNHANDLED = "unhandled"
    RECIPIENT_GONE = "recipient gone"
    HUB_STOPPED = "hub stopped"
    LATE_REPLY = "late reply"
    TOO_MANY_HOPS = "too many hops"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubEvent(Event):
    """An event on a hub.

    Attributes:
        hub: The hub's name.
    """

    log_names: ClassVar[tuple[str, ...]] = ("hub",)

    hub: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOpened(HubEvent):
    """The hub was entered."""

    level: ClassVar[Level] = "info"
    log_words: ClassVar[str] = "hub opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubClosed(HubEvent):
    """The hub was left, and all its tasks have ended."""

    level: ClassVar[Level] = "info"
    log_words: ClassVar[str] = "hub closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRegistered(HubEvent):
    """An agent was registered.

    Attributes:
        agent: Its id.
    """

    log_words: ClassVar[str] = "{agent} was registered"

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentUnregistered(HubEvent):
    """An agent was unregistered, and its last handler has ended.

    Attributes:
        agent: Its id.
    """

    log_words: ClassVar[str] = "{agent} was unregistered"

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRestarted(HubEvent):
    """A failed agent got a new instance, which continues with its mailbox.

    Attributes:
        agent: Its id.
        restarts: The number of restarts within the period of its supervision, including this one.
        error: The name of the class of the error it failed with.
    """

    level: ClassVar[Level] = "warning"
    log_words: ClassVar[str] = "{agent} was restarted after {error}, restart {restarts}"

    agent: str
    restarts: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStartFailed(HubEvent):
    """An agent's constructor or its ``on_start`` raised; the log has the error.

    Attributes:
        agent: Its id.
        error: The name of the error's class.
    """

    level: ClassVar[Level] = "error"
    log_words: ClassVar[str] = "{agent} could not be started: {error}"

    agent: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCrashed(HubEvent):
    """A task that an agent owns raised; the log has the error.

    Attributes:
        agent: The agent's id.
        task: The task's name.
        error: The name of the error's class.
    """

    level: ClassVar[Level] = "error"
    log_words: ClassVar[str] = "task {task} of {agent} crashed: {error}"

    agent: str
    task: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerminated(HubEvent):
    """A failed agent was removed from the hub, or has ended the hub, as its supervision says.

    Attributes:
        agent: Its id.
        error: The name of the class of the error it failed with.
    """

    level: ClassVar[Level] = "error"
    log_words: ClassVar[str] = "{agent} was ended by {error}"

    agent: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionAdded(HubEvent):
    """An agent or a listener subscribed.

    Attributes:
        subscriber: Its id.
        topic: The pattern.
        group: The group with which it shares the publications, if it does.
    """

    log_words: ClassVar[str] = "{subscriber} subscribed to {topic}{group:in}"

    subscriber: str
    topic: str
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionRemoved(HubEvent):
    """A subscription ended.

    Attributes:
        subscriber: The id of the agent or listener.
        topic: The pattern.
        group: The group with which it shared the publications, if it did.
    """

    log_words: ClassVar[str] = "{subscriber} unsubscribed from {topic}{group:in}"

    subscriber: str
    topic: str
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(HubEvent):
    """A publication or a broadcast has been delivered as far as possible.

    Attributes:
        topic: What it was published to; None for a broadcast.
        sender: The agent that sent it, if one did.
        delivered: How many recipients got it; if 0 and nothing was lost, there was no recipient.
        lost: How many recipients did not get it.
        cause: The id of the message whose handling published it, if one did.
        trace: The trace of its messages; None if there are none and it was not given or inherited.
    """

    log_words: ClassVar[str] = "published{topic:on}{sender:from}: {delivered} got it, {lost} did not"

    topic: str | None
    sender: str | None
    delivered: int
    lost: int
    cause: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceTerminated(HubEvent):
    """An instance of an agent with ``per=`` was ended because it failed; the next message for its key makes another.

    Attributes:
        agent: The agent's id.
        error: The name of the class of the error it failed with.
    """

    level: ClassVar[Level] = "error"
    log_words: ClassVar[str] = "an instance of {agent} was ended by {error}"

    agent: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRefused(HubEvent):
    """A send or request raised and was never accepted: a full mailbox, an unknown agent, a stopped hub.

    Attributes:
        type: Request, notification or broadcast.
        sender: The agent that sent it, if one did.
        recipient: The agent it was for; for a publication ``*``.
        payload: The name of the payload's class.
        error: The name of the error's class.
        topic: The topic, for a publication.
        cause: The id of the message whose handling sent it, if one did.
        trace: The trace it belongs to, if it was given or inherited.
    """

    level: ClassVar[Level] = "warning"
    log_words: ClassVar[str] = "{payload}{sender:from}{topic:on} for {recipient} was refused: {error}"

    type: MessageType
    sender: str | None
    recipient: str
    payload: str
    error: str
    topic: str | None = None
    cause: str | None = None
    trace: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEvent(HubEvent):
    """An event of a message.

    Attributes:
        message_id: The message.
        type: Request, notification or broadcast.
        sender: The agent that sent it, if one did.
        recipient: The agent it is for.
        payload: The name of the payload's class.
        trace: The trace it belongs to.
        age: Seconds since it was sent.
        handler: The module and qualified name of its handler; None if there is none, and for a listener.
        topic: The topic, for a publication.
        cause: The id of the message whose handling sent it, if one did.
    """

    log_names: ClassVar[tuple[str, ...]] = ("hub", "message_id", "trace")

    message_id: str
    type: MessageType
    sender: str | None
    recipient: str
    payload: str
    trace: str
    age: float
    handler: str | None = None
    topic: str | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAccepted(MessageEvent):
    """The recipient's mailbox took the message."""

    log_words: ClassVar[str] = "{recipient} has {payload}{sender:from}{topic:on} in its mailbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStarted(MessageEvent):
    """The recipient's handler starts."""

    log_words: ClassVar[str] = "{recipient} handles {payload}{sender:from}{topic:on}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageHandled(MessageEvent):
    """The handler returned.

    Attributes:
        parts: How many parts of its reply it has streamed; None if it has streamed nothing.
    """

    log_words: ClassVar[str] = "{recipient} has handled {payload}{sender:from}{topic:on} after {age:ago}"

    parts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFailed(MessageEvent):
    """The handler raised.

    Attributes:
        error: The name of the error's class.
    """

    level: ClassVar[Level] = "warning"
    log_words: ClassVar[str] = "{recipient} failed on {payload}{sender:from}{topic:on} after {age:ago}: {error}"

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageCancelled(MessageEvent):
    """The requester gave up, or the recipient had to stop, and the handler was cancelled or never started."""

    log_words: ClassVar[str] = "{recipient} was cancelled on {payload}{sender:from}{topic:on} after {age:ago}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDead(MessageEvent):
    """A message will never be handled: it was accepted, or a publication that a subscriber could not get.

    Attributes:
        reason: Why.
    """

    level: ClassVar[Level] = "warning"
    log_words: ClassVar[str] = "{payload}{sender:from}{topic:on} for {recipient} is dead: {reason}"

    reason: DeadReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyLate(MessageEvent):
    """A handler returned after its requester had given up. The reply reaches nobody."""

    log_words: ClassVar[str] = "{recipient} answered {payload}{sender:from} too late, after {age:ago}"
