"""The errors of a hub, one class for each fact that a caller can act on.

::

    HubError
    ├── InvalidName (ValueError)               an id or name with characters that are not allowed
    ├── InvalidTopic (ValueError)              a topic or pattern that does not follow the grammar
    ├── InvalidConfig (ValueError)             a configuration that cannot be read or used
    ├── InvalidArgument (ValueError,           an argument of the wrong type or value
    │                    TypeError)
    ├── DeadLetterNotFound (LookupError)       a letter that is not among the dead ones (any more)
    ├── InvalidHandler (TypeError)             a handler that cannot be registered as it is written
    ├── DuplicateAgent (ValueError)            the id is taken
    ├── HubReentered (RuntimeError)            a hub is entered once
    ├── WrongStart (RuntimeError)              a hub that `start` or `stop` cannot be used for
    ├── WrongThread (RuntimeError)             a call from another thread or event loop than the hub's
    │   └── LoopWouldBlock                     a portal called where an event loop runs
    └── DeliveryError                          all of them know the `recipient`
        ├── AgentNotFound (LookupError)        nobody has this id
        ├── AgentStopped                       the recipient is leaving, or left before it answered
        │   └── AgentNotStarted                it was removed because it could not be started
        ├── NoHandler (LookupError)            the recipient takes no payload of this class
        ├── MailboxFull                        no room in time
        ├── AlreadyForwarded                   a handler has forwarded its request before
        ├── PayloadChanged                     somebody changed a payload that others see too
        ├── HubNotStarted                      the hub was not entered yet
        ├── HubStopped                         the hub takes no more work, or stopped before the answer
        └── RequestError
            ├── RequestTimeout (TimeoutError)  no answer in time
            ├── RequestCycle                   the recipient waits for this very request
            ├── StreamedReply (TypeError)      the handler streams its reply, and one reply was awaited
            ├── HandlerFailed                  the handler raised; `cause` is its error
            └── UnexpectedReply (TypeError)    the reply has another class than expected
"""

from collections.abc import Collection, Sequence
from typing import Literal

from ._containment import class_name, describe_error
from ._facts import NAMES_SHOWN, some
from ._misuse import (
    DeadLetterNotFound,
    DuplicateAgent,
    HubError,
    HubReentered,
    InvalidArgument,
    InvalidConfig,
    InvalidHandler,
    InvalidName,
    InvalidTopic,
    LoopWouldBlock,
    WrongStart,
    WrongThread,
)
from ._similar import similar_names

__all__ = [
    "AgentNotFound",
    "AgentNotStarted",
    "AgentStopped",
    "AlreadyForwarded",
    "DeadLetterNotFound",
    "DeliveryError",
    "DuplicateAgent",
    "HandlerFailed",
    "HubError",
    "HubNotStarted",
    "HubReentered",
    "HubStopped",
    "InvalidArgument",
    "InvalidConfig",
    "InvalidHandler",
    "InvalidName",
    "InvalidTopic",
    "LoopWouldBlock",
    "MailboxFull",
    "NoHandler",
    "PayloadChanged",
    "RequestCycle",
    "RequestError",
    "RequestTimeout",
    "StreamedReply",
    "UnexpectedReply",
    "WrongStart",
    "WrongThread",
]


class DeliveryError(HubError):
    """A message could not be delivered, or a request could not be answered.

    Attributes:
        recipient: The agent it was meant for.
    """

    def __init__(self, recipient: str, message: str) -> None:
        self.recipient = recipient
        super().__init__(message)


class AgentNotFound(DeliveryError, LookupError):
    """Nobody has this id.

    Attributes:
        recipient: The id that was asked for.
        hub: The hub's name.
        known: Registered ids, up to ten, similar ones first.
    """

    def __init__(self, recipient: str, hub: str, known: Collection[str]) -> None:
        self.hub = hub
        self.known = similar_names(recipient, known, NAMES_SHOWN)
        known_names = some(self.known, len(known))
        super().__init__(recipient, f"no agent {recipient!r} on hub {hub!r}, which has {known_names}")


class AgentStopped(DeliveryError):
    """The recipient is being unregistered and takes no more messages, or left before it answered."""

    def __init__(self, recipient: str, message: str | None = None) -> None:
        said = f"agent {recipient!r} was unregistered: send to another one, or register it again"
        super().__init__(recipient, said if message is None else message)


class AgentNotStarted(AgentStopped):
    """The recipient was removed from the hub because its constructor or its ``on_start`` failed.

    Attributes:
        recipient: The agent.
        cause: What it raised; also the error's ``__cause__``.
    """

    def __init__(self, recipient: str, cause: BaseException) -> None:
        self.cause = cause
        super().__init__(
            recipient,
            f"agent {recipient!r} did not start: {describe_error(cause)}: correct that and register it again",
        )
        self.__cause__ = cause


class NoHandler(DeliveryError, LookupError):
    """The recipient has no handler for payloads of this class.

    Attributes:
        recipient: The agent.
        payload: The name of the payload's class.
        handled: The names of the classes that the agent takes.
    """

    def __init__(self, recipient: str, payload: type, handled: Collection[type]) -> None:
        self.payload = class_name(payload)
        self.handled = tuple(sorted(class_name(cls) for cls in handled))
        super().__init__(
            recipient, f"agent {recipient!r} has no handler for {self.payload}, it takes {some(self.handled)}"
        )


class MailboxFull(DeliveryError):
    """The recipient's mailbox had no room in time.

    Attributes:
        recipient: The agent.
        mailbox: How many messages its mailbox holds.
        to_self: Whether the agent sent to itself, which never waits: only the sender could make room.
        dropped: Whether the message was in the mailbox and had to make room for a newer one.
    """

    def __init__(self, recipient: str, mailbox: float, *, to_self: bool = False, dropped: bool = False) -> None:
        self.mailbox = mailbox
        self.to_self = to_self
        self.dropped = dropped
        why = "an agent cannot wait for room in its own mailbox" if to_self else "it had no room in time"
        why = "the message was dropped for a newer one" if dropped else why
        remedy = "send less, or register it with a larger `mailbox=` or more `concurrency=`"
        super().__init__(
            recipient, f"the mailbox of agent {recipient!r} is full ({mailbox} messages) and {why}: {remedy}"
        )


class AlreadyForwarded(DeliveryError):
    """A handler forwarded a request twice: there is only one obligation to answer."""

    def __init__(self, recipient: str) -> None:
        super().__init__(recipient, f"the request was forwarded before, not to {recipient!r}: forward it once, or send")


class PayloadChanged(DeliveryError):
    """Somebody changed a payload, which its sender and all recipients share. Found with ``check_payloads=True``.

    Attributes:
        recipient: The agent that got it.
        payload: The name of its class.
        when: ``"before"`` it was handled, by the sender or another recipient, or ``"while"`` it was handled.
    """

    def __init__(self, recipient: str, payload: type, when: Literal["before", "while"]) -> None:
        self.payload = class_name(payload)
        self.when = when
        super().__init__(
            recipient,
            f"a {self.payload} for agent {recipient!r} was changed {when} it was handled: payloads are shared, so send "
            "frozen ones, or a copy",
        )


class HubNotStarted(DeliveryError):
    """The hub was not entered yet.

    Attributes:
        recipient: The agent the message was meant for.
        hub: The hub's name.
    """

    def __init__(self, recipient: str, hub: str) -> None:
        self.hub = hub
        super().__init__(recipient, f"hub {hub!r} is not running: send to {recipient!r} inside `async with hub:`")


class HubStopped(DeliveryError):
    """The hub takes no more work, or stopped before the answer came.

    Attributes:
        recipient: The agent the message was meant for.
        hub: The hub's name.
    """

    def __init__(self, recipient: str, hub: str) -> None:
        self.hub = hub
        super().__init__(
            recipient, f"hub {hub!r} has stopped: {recipient!r} takes no more messages and answers no more requests"
        )


class RequestError(DeliveryError):
    """A request has no useful answer."""


class RequestTimeout(RequestError, TimeoutError):
    """No answer came in time.

    Attributes:
        recipient: The agent that was asked.
        timeout: The seconds that the request had; a deadline inherited from the request being handled may have
            shortened them.
        stage: How far it had got: before the ``"start"``, or waiting for ``"room"`` in the mailbox, for its ``"turn"``,
            or for the ``"handler"``; or for the next ``"part"`` of a stream.
    """

    def __init__(
        self, recipient: str, timeout: float, stage: Literal["start", "room", "turn", "handler", "part"]
    ) -> None:
        self.timeout = timeout
        self.stage = stage
        reached = {
            "start": "the time was up before the request was sent",
            "room": "its mailbox stayed full",
            "turn": "the request was still waiting in its mailbox",
            "handler": "its handler was still running",
            "part": "its handler was still at work on the next part",
        }
        super().__init__(recipient, f"no answer from agent {recipient!r} within {timeout:.3g} s: {reached[stage]}")


class RequestCycle(RequestError):
    """The recipient waits for this very request, and has no free worker to handle another one.

    Attributes:
        recipient: The agent that was asked.
        chain: The agents that wait for each other, the recipient at both ends.
    """

    def __init__(self, recipient: str, waiting: Sequence[str]) -> None:
        self.chain = (*waiting[waiting.index(recipient) :], recipient)
        path = " → ".join(self.chain)
        super().__init__(
            recipient,
            f"requests form a cycle ({path}): send one way, or give {recipient!r} more `concurrency=`",
        )


class StreamedReply(RequestError, TypeError):
    """The handler is a generator: it streams its reply, but the requester waits for one value.

    Attributes:
        recipient: The agent that was asked.
        handler: The handler's module and qualified name.
    """

    def __init__(self, recipient: str, handler: str) -> None:
        self.handler = handler
        super().__init__(
            recipient,
            f"agent {recipient!r} streams its reply, as {handler} is a generator: read the parts by "
            f"`async for part in hub.stream({recipient!r}, …)`",
        )


class HandlerFailed(RequestError):
    """The recipient's handler raised.

    Attributes:
        recipient: The agent that was asked.
        handler: The handler's module and qualified name.
        cause: What it raised; also the error's ``__cause__``.
    """

    def __init__(self, recipient: str, handler: str, cause: BaseException) -> None:
        self.handler = handler
        self.cause = cause
        super().__init__(recipient, f"agent {recipient!r} failed in {handler}: {describe_error(cause)}")
        self.__cause__ = cause


class UnexpectedReply(RequestError, TypeError):
    """The reply has another class than the requester expected.

    Attributes:
        recipient: The agent that answered.
        expected: What the requester named in ``expect=``.
        reply: The reply as it came.
    """

    def __init__(self, recipient: str, expected: object, reply: object) -> None:
        self.expected = expected
        self.reply = reply
        wanted = getattr(expected, "__qualname__", repr(expected))
        got = class_name(type(reply))
        super().__init__(
            recipient,
            f"agent {recipient!r} replied with {got}, not {wanted}: change `expect=` or what its handler returns",
        )
