"""Listening to what is published, without an agent."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final, Literal

from ._arguments import check_choice
from ._directory import Directory
from ._engine import Engine
from ._limits import count
from ._listener import Listener
from ._names import check_group
from ._time_slice import TimeSlice
from ._topics import check_pattern
from .errors import HubNotStarted

_LISTENER_OVERFLOW: Final[tuple[Literal["reject", "drop_oldest"], ...]] = ("reject", "drop_oldest")


class Listening:
    """The part of a hub that listens."""

    _name: str
    _directory: Directory
    _engine: Engine | None
    _time_slice: TimeSlice

    @asynccontextmanager
    async def listen(
        self,
        topic: str,
        *,
        limit: int | None = 100,
        overflow: Literal["reject", "drop_oldest"] = "reject",
        group: str | None = None,
    ) -> AsyncGenerator[Listener, None]:
        """Subscribe for the length of a block, without an agent: ``async with hub.listen("orders.>") as stream:``.

        The stream is an async iterator over the messages. It ends with the hub, which does not wait for its reader: a
        message counts as handled when it is in the stream's buffer.

        Args:
            topic: A pattern, as for `subscribe`.
            limit: How many messages it buffers for its reader; None for any number.
            overflow: What it does when the buffer is full: ``"reject"`` new messages, as dead letters, or
                ``"drop_oldest"`` from the buffer.
            group: Share the messages with the other subscribers of this group; see `subscribe`.

        Raises:
            InvalidTopic: The topic does not follow the grammar.
            InvalidName: The group's name has characters that are not allowed.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It has stopped.
        """
        try:
            listener = self._add_listener(topic, limit, overflow, group)
        except Exception:
            await self._time_slice.take()
            raise
        try:
            await self._time_slice.take()
            yield listener
        finally:
            self._directory.unsubscribe(listener.id, listener, topic)
            self._directory.listeners.pop(listener, None)
            listener.close()

    def _add_listener(
        self, topic: str, limit: int | None, overflow: Literal["reject", "drop_oldest"], group: str | None
    ) -> Listener:
        check_pattern(topic)
        check_group(group)
        room, policy = count("limit", limit), check_choice("overflow", overflow, _LISTENER_OVERFLOW)
        engine = self._engine
        if engine is None:
            raise HubNotStarted(topic, self._name)
        engine.check_here("listen")
        self._directory.check_open(topic, inside=True)
        engine.listeners += 1
        listener = Listener(f"listener-{engine.listeners}", room, policy, engine)
        self._directory.subscribe(listener.id, listener, topic, group)
        self._directory.listeners[listener] = None
        return listener
