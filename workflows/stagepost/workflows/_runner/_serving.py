"""Workflows as agents on the hub."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from stagepost.hub import Hub, HubError, Message

from ..errors import HubRequired


class Serving:
    """Puts workflows on a hub, and takes them off again.

    Args:
        hub: The hub, if there is one.
    """

    def __init__(self, hub: Hub | None) -> None:
        self._hub = hub
        self._names: list[str] = []

    def check(self, name: str) -> Hub:
        """See that there is a hub.

        Raises:
            HubRequired: There is none.
        """
        if self._hub is None:
            raise HubRequired(name, name)
        return self._hub

    def put(self, name: str, handle: Callable[[Message[object]], Awaitable[object]]) -> None:
        """Have requests to a name handled, any number at once.

        Raises:
            DuplicateAgent: The name is taken.
        """
        self.check(name).register(name, handle, concurrency=None, detach=True)
        self._names.append(name)

    async def leave(self, patience: float) -> None:
        """Take them off the hub, since nobody would do their work; their runs have ended, so their handlers do."""
        names, self._names = self._names, []
        with anyio.move_on_after(patience, shield=True):
            for name in names:
                with suppress(HubError):  # the hub has stopped, or somebody else has unregistered it
                    await self.check(name).unregister(name)
