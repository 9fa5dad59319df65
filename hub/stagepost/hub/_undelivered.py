"""Errors of messages that could not be delivered; see `errors`."""

from collections.abc import Collection
from typing import Literal

from ._containment import class_name, describe_error
from ._facts import NAMES_SHOWN, some
from ._misuse import HubError
from ._similar import similar_names


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


class InstancesFull(MailboxFull):
    """An agent has an instance for as many keys as it may, and all of them have work.

    Attributes:
        recipient: The agent.
        mailbox: How many instances it may have.
    """

    def __init__(self, recipient: str, instances: float) -> None:
        super().__init__(recipient, instances)
        told = f"agent {recipient!r} works for {instances} keys at once, and no more are allowed"
        self.args = (f"{told}: send later, or register it with more `instances=`",)


class KeyFailed(DeliveryError):
    """The function that gives the key of a payload, the ``per=`` of its recipient, raised or returned no key.

    Attributes:
        recipient: The agent.
        payload: The name of the payload's class.
        cause: What was raised; also the error's ``__cause__``.
    """

    def __init__(self, recipient: str, payload: type, function: str, cause: BaseException) -> None:
        self.payload = class_name(payload)
        self.cause = cause
        super().__init__(
            recipient,
            f"{function} gives no key for a {self.payload}, so no instance of agent {recipient!r} can take it: "
            f"{describe_error(cause)}",
        )
        self.__cause__ = cause


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
