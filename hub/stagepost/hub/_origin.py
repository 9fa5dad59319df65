"""The origin of a message, and what it inherits from there."""

import math
from typing import NamedTuple, Protocol, TypeAlias

from ._envelope import NO_TRAIL, Envelope, EnvelopeState, Trail
from ._message import Message
from ._stamps import Stamps


class Place(Protocol):
    """The engine of a hub, as origins see it."""

    @property
    def hub(self) -> str:
        """The hub's name."""

    @property
    def stamps(self) -> Stamps:
        """The clock and the message ids of the hub."""


class Carriage(NamedTuple):
    """A message of another hub in the same event loop that a bridge carries over.

    Attributes:
        envelope: The message.
        place: The hub on which it is handled.
    """

    envelope: Envelope
    place: Place


Cause: TypeAlias = Message[object] | Carriage | str
"""The cause of a message: another message, perhaps from another hub, or its id."""


class Origin(NamedTuple):
    """The origin of a message.

    Attributes:
        sender: The agent that sends it, if any.
        trail: What it inherits from the handled message.
        deadline: When the answer to the handled request is due: the latest time for requests made meanwhile.
        inside: Whether a running handler of the hub sends it, or a task that the handler started.
    """

    sender: str | None = None
    trail: Trail = NO_TRAIL
    deadline: float = math.inf
    inside: bool = False

    def because(self, cause: Message[object] | str | None, trace: str | None) -> "Origin":
        """The same origin with the cause and trace that the sender gives."""
        if cause is None and trace is None:
            return self
        trail = self.trail
        if isinstance(cause, Message):
            trail = trail._replace(cause=cause.id, trace=trace or cause.trace)
        else:
            trail = trail._replace(cause=cause or trail.cause, trace=trace or trail.trace)
        return self._replace(trail=trail)


OUTSIDE = Origin()


def origin_within(envelope: Envelope, sender: str | None, stamps: Stamps, *, asks: bool) -> Origin:
    """The origin of a message sent during the handling of another, or by a task that its handler started.

    Args:
        envelope: The message that is handled.
        sender: The agent that sends.
        stamps: Those of its hub.
        asks: Whether it is a request: the agent waits for its answer, and so do all who wait for the agent.
    """
    cause, trace = envelope.id(stamps), envelope.trace(stamps)
    if envelope.state is not EnvelopeState.RUNNING:  # the handler has ended: nobody waits for the tasks that it started
        return Origin(sender, Trail(cause, trace))
    chain = _waiting(envelope) if asks else ()
    within = envelope.recipient.id, envelope.number
    return Origin(sender, Trail(cause, trace, chain, within), envelope.inherited_deadline(), inside=True)


def origin_across(envelope: Envelope, sender: str | None, there: Place, here: Place, *, asks: bool) -> Origin:
    """The origin of a message sent to one hub during the handling of a message of another one in the same event loop.

    In the chain, agents of other hubs stand as ``agent@hub``. Nobody on this hub waits for the handler, so it does not
    count as inside.

    Args:
        envelope: The message that is handled.
        sender: The agent that sends.
        there: The hub on which it is handled.
        here: The hub to which the message is sent.
        asks: Whether it is a request.
    """
    origin = origin_within(envelope, sender, there.stamps, asks=asks)
    chain = tuple(_seen_from(agent, there.hub, here.hub) for agent in origin.trail.chain)
    deadline = origin.deadline
    if deadline < math.inf:
        deadline += here.stamps.clock() - there.stamps.clock()
    return Origin(sender, Trail(origin.trail.cause, origin.trail.trace, chain), deadline)


def _seen_from(agent: str, there: str, here: str) -> str:
    """The name on this hub of an agent in a chain that comes from another hub."""
    name, at, home = agent.partition("@")
    if not at:
        return f"{agent}@{there}"
    return name if home == here else agent


def _waiting(envelope: Envelope) -> tuple[str, ...]:
    """The agents that wait for a request made now; those before the agent itself only if somebody awaits its reply."""
    agent = envelope.recipient.id
    return (agent,) if envelope.waiter is None else (*envelope.trail.chain, agent)
