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
        ├── KeyFailed                          the function that gives the key of a payload raised
        ├── MailboxFull                        no room in time
        │   └── InstancesFull                  an agent with `per=` has as many instances as it may have
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

from collections.abc import Sequence
from typing import Literal

from ._containment import class_name, describe_error
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
from ._undelivered import (
    AgentNotFound,
    AgentNotStarted,
    AgentStopped,
    AlreadyForwarded,
    DeliveryError,
    HubNotStarted,
    HubStopped,
    InstancesFull,
    KeyFailed,
    MailboxFull,
    NoHandler,
    PayloadChanged,
)

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
    "InstancesFull",
    "InvalidArgument",
    "InvalidConfig",
    "InvalidHandler",
    "InvalidName",
    "InvalidTopic",
    "KeyFailed",
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
