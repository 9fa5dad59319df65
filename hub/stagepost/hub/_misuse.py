"""The root of a hub's errors, and the errors for wrong calls; see `errors`."""

from ._facts import FactError, shown


class HubError(FactError):
    """Root of all errors of this layer."""


class InvalidName(HubError, ValueError):
    """An id or name contains characters that are not allowed, is empty or too long.

    Attributes:
        kind: What the name is for, e.g. ``"agent id"``.
        name: The refused value.
    """

    def __init__(self, kind: str, name: object) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"{shown(name)} is not a valid {kind}: use 1 to 100 of the characters A-Z a-z 0-9 _ -")


class InvalidTopic(HubError, ValueError):
    """A topic or a pattern does not follow the grammar.

    Attributes:
        topic: The refused value.
        wildcards: Whether wildcards were allowed there.
    """

    def __init__(self, topic: object, *, wildcards: bool) -> None:
        self.topic = topic
        self.wildcards = wildcards
        grammar = "`*` for one word, `>` at the end for the rest ('orders.*.paid')" if wildcards else "no wildcards"
        kind = "pattern" if wildcards else "topic to publish to"
        super().__init__(
            f"{shown(topic)} is not a {kind}: use words separated by dots, at most 255 characters, {grammar}"
        )


class InvalidConfig(HubError, ValueError):
    """A configuration cannot be read or used.

    Attributes:
        source: Where it came from.
        problem: What is wrong with it.
    """

    def __init__(self, source: str, problem: str) -> None:
        self.source = source
        self.problem = problem
        super().__init__(f"configuration {source} cannot be used: {problem}")


class InvalidArgument(HubError, ValueError, TypeError):
    """An argument has the wrong type or value; nothing was done.

    Attributes:
        argument: The name of the argument.
        value: The refused value.
        remedy: What to give instead.
    """

    def __init__(self, argument: str, value: object, remedy: str) -> None:
        self.argument = argument
        self.value = value
        self.remedy = remedy
        super().__init__(f"{argument} is {shown(value)}: {remedy}")


class DeadLetterNotFound(HubError, LookupError):
    """A letter that is to be sent again is not among the dead ones.

    Attributes:
        message_id: The id of its message.
        hub: The hub's name.
    """

    def __init__(self, message_id: str, hub: str) -> None:
        self.message_id = message_id
        self.hub = hub
        super().__init__(
            f"hub {hub!r} has no dead letter {shown(message_id)}: it was sent again already, or it is being sent, or "
            "newer ones have taken its place; see hub.dead_letters"
        )


class InvalidHandler(HubError, TypeError):
    """A handler cannot be registered as it is written.

    Attributes:
        handler: The handler's module and qualified name.
        problem: What is wrong with it.
        remedy: How to write it instead.
    """

    def __init__(self, handler: str, problem: str, remedy: str) -> None:
        self.handler = handler
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"handler {handler} {problem}: {remedy}")


class DuplicateAgent(HubError, ValueError):
    """The id is taken on this hub, perhaps by an agent that is still leaving.

    Attributes:
        agent: The id.
        hub: The hub's name.
    """

    def __init__(self, agent: str, hub: str) -> None:
        self.agent = agent
        self.hub = hub
        super().__init__(
            f"agent {agent!r} is on hub {hub!r} already: choose another id, or await hub.unregister({agent!r}) first"
        )


class HubReentered(HubError, RuntimeError):
    """A hub was entered a second time.

    Attributes:
        hub: The hub's name.
    """

    def __init__(self, hub: str) -> None:
        self.hub = hub
        super().__init__(f"hub {hub!r} was entered before and cannot start again: make a new Hub({hub!r})")


class WrongStart(HubError, RuntimeError):
    """`Hub.start` or `Hub.stop` cannot be used for this hub.

    Attributes:
        hub: The hub's name.
        problem: What is wrong.
        remedy: What to do instead.
    """

    def __init__(self, hub: str, problem: str, remedy: str) -> None:
        self.hub = hub
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"hub {hub!r} {problem}: {remedy}")


class WrongThread(HubError, RuntimeError):
    """A hub was called from another thread, or another event loop, than the one that it was entered in.

    Attributes:
        hub: The hub's name.
        call: What was called.
    """

    def __init__(self, hub: str, call: str) -> None:
        self.hub = hub
        self.call = call
        super().__init__(self._text(hub, call))

    @staticmethod
    def _text(hub: str, call: str) -> str:
        return (
            f"{call} of hub {hub!r} was called outside the thread and event loop in which the hub was entered: "
            "in other threads call hub.portal(), or anyio.from_thread.run(…) in one that anyio started"
        )


class LoopWouldBlock(WrongThread):
    """A portal was called in a thread that runs an event loop, which the call would have blocked."""

    @staticmethod
    def _text(hub: str, call: str) -> str:
        return (
            f"{call} of a portal to hub {hub!r} was called in a thread that runs an event loop, which it would block: "
            f"await hub.{call}(…) in the hub's own loop; in another one call the portal in a worker thread, for "
            f"example by anyio.to_thread.run_sync"
        )
