"""Agents whose handlers run longer than they should."""

from collections.abc import Iterator

from stagepost._dataclasses import dataclass

from ._containment import class_name
from ._directory import Directory
from ._endpoint import Endpoint
from ._envelope import Envelope
from ._message import MessageType
from ._stamps import Stamps


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckAgent:
    """An agent that has been handling one message for long.

    Attributes:
        agent: Its id.
        message_id: The message that it has been handling longest.
        type: That message's type.
        payload: The name of its payload's class.
        sender: Who sent it; None for code outside any agent.
        topic: The topic that it was published to, if it was.
        handler: The handler's name.
        running_since: When the handler began, in Unix seconds.
        seconds: For how long it has been running.
        depth: How many messages wait in the agent's mailbox.
    """

    agent: str
    message_id: str
    type: MessageType
    payload: str
    sender: str | None
    topic: str | None
    handler: str
    running_since: float
    seconds: float
    depth: int


def stuck_agents(directory: Directory, stamps: Stamps, longer_than: float) -> tuple[StuckAgent, ...]:
    """The agents whose oldest running handler has been running longer than that; those that run longest first."""
    now = stamps.clock()
    found = [each for endpoint in directory.endpoints() for each in _oldest(endpoint, now - longer_than)]
    found.sort(key=lambda each: each[2])
    return tuple(_stuck(endpoint, envelope, began, stamps, now) for endpoint, envelope, began in found)


def _oldest(endpoint: Endpoint, before: float) -> Iterator[tuple[Endpoint, Envelope, float]]:
    """The message that an agent has been handling longest, if that began early enough."""
    running = [worker for worker in endpoint.workers.staff if worker.current is not None and worker.began < before]
    oldest = min(running, key=lambda worker: worker.began, default=None)
    envelope = None if oldest is None else oldest.handled()
    if oldest is not None and envelope is not None:
        yield endpoint, envelope, oldest.began


def _stuck(endpoint: Endpoint, envelope: Envelope, began: float, stamps: Stamps, now: float) -> StuckAgent:
    return StuckAgent(
        agent=endpoint.id,
        message_id=envelope.id(stamps),
        type=envelope.type,
        payload=class_name(type(envelope.payload)),
        sender=envelope.sender,
        topic=envelope.terms.topic,
        handler=envelope.handler.name,
        running_since=stamps.wall(began),
        seconds=now - began,
        depth=endpoint.depth,
    )
