"""An in-process async hub that routes typed messages between agents.

Register handlers, then `Hub.send` one way or `Hub.request` and get the reply; a handler's `Context` does both as its
agent. Everything a hub starts ends with its ``async with`` block, every request ends by a reply or an error, and every
message that a mailbox accepted is handled, failed, cancelled or dead, once.
"""

from ._emitter import Emitter
from ._events import (
    AgentRegistered,
    AgentUnregistered,
    DeadReason,
    HubClosed,
    HubEvent,
    HubOpened,
    MessageAccepted,
    MessageCancelled,
    MessageDead,
    MessageEvent,
    MessageFailed,
    MessageHandled,
    MessageStarted,
    ReplyLate,
)
from ._hub import Context, Hub, Identified
from ._ledger import HubMetrics
from ._limits import Duration, seconds
from ._log import get_logger
from ._message import Message, MessageType, Priority
from ._names import check_name
from ._observer import Event, Level, NullObserver, Observer
from ._observers import LogObserver, MultiObserver
from ._signature import handles
from .errors import (
    AgentNotFound,
    AgentStopped,
    DeliveryError,
    DuplicateAgent,
    HandlerFailed,
    HubError,
    HubNotStarted,
    HubReentered,
    HubStopped,
    InvalidHandler,
    InvalidName,
    MailboxFull,
    NoHandler,
    RequestCycle,
    RequestError,
    RequestTimeout,
    UnexpectedReply,
)

__all__ = [
    "AgentNotFound",
    "AgentRegistered",
    "AgentStopped",
    "AgentUnregistered",
    "Context",
    "DeadReason",
    "DeliveryError",
    "DuplicateAgent",
    "Duration",
    "Emitter",
    "Event",
    "HandlerFailed",
    "Hub",
    "HubClosed",
    "HubError",
    "HubEvent",
    "HubMetrics",
    "HubNotStarted",
    "HubOpened",
    "HubReentered",
    "HubStopped",
    "Identified",
    "InvalidHandler",
    "InvalidName",
    "Level",
    "LogObserver",
    "MailboxFull",
    "Message",
    "MessageAccepted",
    "MessageCancelled",
    "MessageDead",
    "MessageEvent",
    "MessageFailed",
    "MessageHandled",
    "MessageStarted",
    "MessageType",
    "MultiObserver",
    "NoHandler",
    "NullObserver",
    "Observer",
    "Priority",
    "ReplyLate",
    "RequestCycle",
    "RequestError",
    "RequestTimeout",
    "UnexpectedReply",
    "check_name",
    "get_logger",
    "handles",
    "seconds",
]
