"""Waiting for the end of an agent."""

from ._router import Router
from ._time_slice import TimeSlice
from ._watches import AgentEnded
from .errors import HubNotStarted


class Watching:
    """The part of a hub that watches agents."""

    _name: str
    _router: Router | None
    _time_slice: TimeSlice

    async def watch(self, agent: str) -> AgentEnded:
        """Wait until an agent has ended for good: it was unregistered, or failed and was removed.

        Its last handler has ended then, and its id is free. A restart is not an end. If there is no such agent, or the
        hub drains or has stopped, this returns at once. An agent that wants to be told, instead of waiting, uses
        `Context.watch`.

        Args:
            agent: Its id.

        Returns:
            Why it has ended.

        Raises:
            InvalidName: It is not a valid id.
            InvalidArgument: The agent itself would wait.
            HubNotStarted: The hub has not been entered yet.
            WrongThread: The hub was entered in another thread or event loop.
        """
        async with self._time_slice:
            if self._router is None:
                raise HubNotStarted(agent, self._name)
            return await self._router.lookout.wait(agent)
