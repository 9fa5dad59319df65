"""An in-process async hub that routes typed messages between agents.

Register handlers, then `Hub.send` one way, `Hub.request` and get the reply, or `Hub.publish` to whoever subscribed; a
handler's `Context` does the same as its agent. Everything a hub starts ends with its ``async with`` block, every
request ends with a reply or an error, and every message that a mailbox accepted ends exactly once: handled, failed,
cancelled or dead.
"""

from typing import TYPE_CHECKING

from ._bridge import Bridge, Carried
from ._containment import describe_error, failure_of, is_fatal, leaves_of
from ._dead_letters import DeadLetter
from ._emitter import Emitter
from ._endpoint import Overflow
from ._events import (
    AgentRegistered,
    AgentRestarted,
    AgentStartFailed,
    AgentTerminated,
    AgentUnregistered,
    DeadReason,
    HubClosed,
    HubEvent,
    HubOpened,
    InstanceTerminated,
    MessageAccepted,
    MessageCancelled,
    MessageDead,
    MessageEvent,
    MessageFailed,
    MessageHandled,
    MessageRefused,
    MessageStarted,
    Published,
    ReplyLate,
    SubscriptionAdded,
    SubscriptionRemoved,
    TaskCrashed,
)
from ._facts import FactError
from ._guards import CancelCounter, TaskGuard, TaskState, new_guard
from ._hub import Context, Hub
from ._limits import Duration, seconds
from ._listener import Listener
from ._log import get_logger
from ._log_fields import bind_log_fields
from ._losses import Losses
from ._marks import handles
from ._membership import Identified
from ._message import Message, MessageType, Priority
from ._metrics import AgentMetrics, HubMetrics, Latency
from ._middleware import Middleware, Proceed
from ._names import check_name
from ._observer import Event, Level, NullObserver, Observer
from ._observers import LogObserver, MultiObserver
from ._owned import OwnedTask
from ._portal import Portal
from ._portal_stream import PortalStream
from ._queued import Queued
from ._replies import Replies
from ._reply_stream import ReplyStream
from ._report import Delivery
from ._sending import Outgoing, SendOn, Sends
from ._stopping import StopReport, Unfinished
from ._stuck import StuckAgent
from ._supervision import Restart, Supervision
from ._timers import Timer
from ._topology import AgentDescription, GroupDescription, TimerDescription, Topology
from ._traceback import traceback_text
from ._traffic import Traffic
from ._wake import Clock
from ._watches import AgentEnded
from .errors import (
    AgentNotFound,
    AgentNotStarted,
    AgentStopped,
    AlreadyForwarded,
    DeadLetterNotFound,
    DeliveryError,
    DuplicateAgent,
    HandlerFailed,
    HubError,
    HubNotStarted,
    HubReentered,
    HubStopped,
    InstancesFull,
    InvalidArgument,
    InvalidConfig,
    InvalidHandler,
    InvalidName,
    InvalidTopic,
    KeyFailed,
    LoopWouldBlock,
    MailboxFull,
    NoHandler,
    PayloadChanged,
    RequestCycle,
    RequestError,
    RequestTimeout,
    StreamedReply,
    UnexpectedReply,
    WrongStart,
    WrongThread,
)

if TYPE_CHECKING:
    from ._config import HubConfig, Registry
    from ._file_config import FileConfig

__all__ = [
    "AgentDescription",
    "AgentEnded",
    "AgentMetrics",
    "AgentNotFound",
    "AgentNotStarted",
    "AgentRegistered",
    "AgentRestarted",
    "AgentStartFailed",
    "AgentStopped",
    "AgentTerminated",
    "AgentUnregistered",
    "AlreadyForwarded",
    "Bridge",
    "CancelCounter",
    "Carried",
    "Clock",
    "Context",
    "DeadLetter",
    "DeadLetterNotFound",
    "DeadReason",
    "Delivery",
    "DeliveryError",
    "DuplicateAgent",
    "Duration",
    "Emitter",
    "Event",
    "FactError",
    "FileConfig",
    "GroupDescription",
    "HandlerFailed",
    "Hub",
    "HubClosed",
    "HubConfig",
    "HubError",
    "HubEvent",
    "HubMetrics",
    "HubNotStarted",
    "HubOpened",
    "HubReentered",
    "HubStopped",
    "Identified",
    "InstanceTerminated",
    "InstancesFull",
    "InvalidArgument",
    "InvalidConfig",
    "InvalidHandler",
    "InvalidName",
    "InvalidTopic",
    "KeyFailed",
    "Latency",
    "Level",
    "Listener",
    "LogObserver",
    "LoopWouldBlock",
    "Losses",
    "MailboxFull",
    "Message",
    "MessageAccepted",
    "MessageCancelled",
    "MessageDead",
    "MessageEvent",
    "MessageFailed",
    "MessageHandled",
    "MessageRefused",
    "MessageStarted",
    "MessageType",
    "Middleware",
    "MultiObserver",
    "NoHandler",
    "NullObserver",
    "Observer",
    "Outgoing",
    "Overflow",
    "OwnedTask",
    "PayloadChanged",
    "Portal",
    "PortalStream",
    "Priority",
    "Proceed",
    "Published",
    "Queued",
    "Registry",
    "Replies",
    "ReplyLate",
    "ReplyStream",
    "RequestCycle",
    "RequestError",
    "RequestTimeout",
    "Restart",
    "SendOn",
    "Sends",
    "StopReport",
    "StreamedReply",
    "StuckAgent",
    "SubscriptionAdded",
    "SubscriptionRemoved",
    "Supervision",
    "TaskCrashed",
    "TaskGuard",
    "TaskState",
    "Timer",
    "TimerDescription",
    "Topology",
    "Traffic",
    "UnexpectedReply",
    "Unfinished",
    "WrongStart",
    "WrongThread",
    "bind_log_fields",
    "check_name",
    "describe_error",
    "failure_of",
    "get_logger",
    "handles",
    "is_fatal",
    "leaves_of",
    "new_guard",
    "seconds",
    "traceback_text",
]


def __getattr__(name: str) -> object:
    """Import pydantic models on first access: building them takes a third of the hub's import time."""
    if name in ("FileConfig", "HubConfig", "Registry"):
        from . import _config  # noqa: PLC0415  # that is the point

        return getattr(_config, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
