"""Server-sent events from what is published on a hub."""

from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel

from stagepost.hub import Hub, Listener, Message


class Streams:
    """The open streams of a service, so that they can be ended before it stops.

    A stream would keep its connection, and the server that waits for all connections, for as long as its client likes.
    """

    def __init__(self) -> None:
        self._open: set[Listener] = set()
        self._closed = False

    async def subscribe(self, hub: Hub, topic: str) -> AsyncIterator[str]:
        """Return what is published to a topic from now on. A reader that is too slow misses the oldest events.

        Raises:
            InvalidTopic: The topic does not follow the grammar.
        """
        stream = self._events(hub, topic)
        return _continued(await anext(stream), stream)

    async def _events(self, hub: Hub, topic: str) -> AsyncIterator[str]:
        async with hub.listen(topic, limit=100, overflow="drop_oldest") as listener:
            self._open.add(listener)
            try:
                yield ": listening\n\n"
                if not self._closed:
                    async for message in listener:
                        yield as_event(message)
            finally:
                self._open.discard(listener)

    def close(self) -> None:
        """End all streams, after what they have received, and those to come at once."""
        self._closed = True
        for listener in self._open:
            listener.close()


async def _continued(first: str, stream: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for event in stream:
        yield event


def as_event(message: Message[Any]) -> str:
    """One event in the format of ``text/event-stream``."""
    data = message.data.model_dump_json() if isinstance(message.data, BaseModel) else str(message.data)
    lines = "".join(f"data: {line}\n" for line in data.splitlines())
    return f"id: {message.id}\nevent: {message.topic}\n{lines}\n"
