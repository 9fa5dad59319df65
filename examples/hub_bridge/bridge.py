"""The bridge."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from stagepost.hub import Context, Hub, HubNotStarted, HubStopped, Message, handles

HOPS: Final = "bridge-hops"
"""The header that names the hubs that a publication has been on, in the order it came there."""


class Bridge:
    """An agent on several hubs that publishes on the others what it hears on one.

    Hubs may be joined by any number of bridges, in a circle too: a publication carries the names of the hubs that it
    has been on and is not taken to one of them again. So the hubs need different names. A publication that comes to a
    hub on two ways is published there twice.

    What is carried keeps its topic, headers, priority and trace, and names the original as its cause. The original's
    sender is a stranger on the other hub, where the bridge is the sender; so a bridge never hears what it has published
    there itself. On a hub that was not entered yet, or was left, nobody hears it, which is no failure.

    Args:
        id: Its id, the same on all hubs.
        hubs: The hubs to join, before or after they are entered.
        topics: What it carries: patterns as for `Hub.subscribe`.

    Raises:
        ValueError: Two hubs have the same name.
    """

    def __init__(self, id: str, hubs: Sequence[Hub], *, topics: Sequence[str] = (">",)) -> None:  # noqa: A002 - an agent has an id
        names = [hub.name for hub in hubs]
        if len(set(names)) < len(names):
            raise ValueError(f"hubs {names} are told apart by name, and two have the same: give each its own")
        self.id = id
        self._hubs = tuple(hubs)
        for hub in hubs:
            hub.register(self, topics=topics)

    @handles
    async def carry(self, message: Message[Any], context: Context) -> None:
        """Publish on the other hubs what was published on this one. Anything else is for somebody else."""
        if message.topic is None:
            return
        visited = [*message.headers.get(HOPS, "").split(), context.hub.name]
        headers = {**message.headers, HOPS: " ".join(visited)}
        for hub in self._hubs:
            if hub.name not in visited:
                with suppress(HubNotStarted, HubStopped):
                    await hub.publish(
                        message.topic,
                        message.data,
                        sender=self.id,
                        headers=headers,
                        priority=message.priority,
                        cause=message,
                    )
