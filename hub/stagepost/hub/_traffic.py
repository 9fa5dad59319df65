"""Which agents have messages on their way to which others."""

from collections import Counter
from itertools import chain, islice
from typing import Final

from stagepost._dataclasses import dataclass

from ._directory import Directory

_LOOKED_AT: Final = 100  # messages of one agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Messages that are on their way from one agent to another one.

    Attributes:
        sender: The agent that has sent them; None for code outside any agent.
        recipient: The agent that they are for.
        topic: The topic that they were published to; None if they were sent.
        waiting: How many wait for their turn, or for room.
        running: How many are being handled.
    """

    sender: str | None
    recipient: str
    topic: str | None
    waiting: int
    running: int


def traffic_on(directory: Directory) -> tuple[Traffic, ...]:
    """What is on its way now; of an agent with many messages, the first ones are looked at."""
    found: dict[tuple[str | None, str, str | None], Counter[bool]] = {}
    for endpoint in directory.endpoints():
        mailbox, running = endpoint.workers.mailbox, endpoint.workers.running()
        for number, record in enumerate(islice(chain(running, mailbox.queue, mailbox.blocked), _LOOKED_AT)):
            way = (record.sender, endpoint.id, record.terms.topic)
            found.setdefault(way, Counter())[number < len(running)] += 1
    return tuple(
        Traffic(sender=sender, recipient=recipient, topic=topic, waiting=counts[False], running=counts[True])
        for (sender, recipient, topic), counts in found.items()
    )
