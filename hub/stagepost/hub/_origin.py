"""Where a message comes from, and what it inherits from there."""

import math
from typing import NamedTuple, TypeAlias

from ._envelope import NO_TRAIL, Envelope, EnvelopeState, Trail
from ._message import Message
from ._stamps import Stamps

Cause: TypeAlias = Message[object] | str
"""What led to a message: another one, perhaps of another hub, or only its id."""


class Origin(NamedTuple):
    """Where a message comes from.

    Attributes:
        sender: The agent that sends it, if one does.
        trail: What it inherits from the message being handled.
        deadline: When the answer to the request being handled is due: the latest time for requests made meanwhile.
        inside: Whether it is sent while a handler of the hub runs, by that handler or by a task that it has started.
    """

    sender: str | None = None
    trail: Trail = NO_TRAIL
    deadline: float = math.inf
    inside: bool = False

    def because(self, cause: Cause | None, trace: str | None) -> "Origin":
        """The same with what the sender says about cause and trace itself."""
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
    """Where a message comes from that is sent while another one is handled, or by what its handler has started.

    Args:
        envelope: The message that is handled.
        sender: The agent that sends.
        stamps: Those of its hub.
        asks: Whether a request is sent: its answer is waited for by the agent, and by all those who wait for the agent.
    """
    cause, trace = envelope.id(stamps), envelope.trace(stamps)
    if envelope.state is not EnvelopeState.RUNNING:  # the handler has ended: nobody waits for what it has started
        return Origin(sender, Trail(cause, trace))
    chain = _waiting(envelope) if asks else ()
    within = envelope.recipient.id, envelope.number
    return Origin(sender, Trail(cause, trace, chain, within), envelope.inherited_deadline(), inside=True)


def _waiting(envelope: Envelope) -> tuple[str, ...]:
    """The agents that wait for a request made now; those before the agent itself only if its reply is waited for."""
    agent = envelope.recipient.id
    return (agent,) if envelope.waiter is None else (*envelope.trail.chain, agent)
