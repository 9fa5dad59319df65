"""Watching for the ends of agents."""

import math
from functools import partial

from ._callers import caller_on
from ._directory import Directory, Phase
from ._engine import Engine
from ._envelope import STANDARD, Envelope
from ._names import check_name
from ._notice import Notice
from ._origin import Origin
from ._registration import Registration
from ._stopping import finish_soon
from ._watches import AgentEnded, Watches
from .errors import InvalidArgument

_STOPPED = (Phase.DRAINING, Phase.CLOSED)


class Lookout:
    """Tells agents, and code that waits, when agents end."""

    __slots__ = ("_directory", "_engine")

    def __init__(self, directory: Directory, engine: Engine) -> None:
        self._directory = directory
        self._engine = engine

    async def wait(self, agent: str) -> AgentEnded:
        """Wait for the end of an agent."""
        self._engine.check_here("watch")
        check_name("agent id", agent)
        caller = caller_on(self._engine)
        if caller is not None:
            _check_other(agent, caller.recipient.id if isinstance(caller, Envelope) else caller.agent)
        if self._directory.phase in _STOPPED:
            return AgentEnded(agent=agent, reason="hub_stopped")
        if not self._directory.has(agent):
            return AgentEnded(agent=agent, reason="absent")
        waiter, told = self._engine.new_waiter(), list[AgentEnded]()

        def tell(ended: AgentEnded) -> None:
            told.append(ended)
            if not waiter.done():
                waiter.set_result(None)

        watches = self._watches()
        watches.add(agent, waiter, tell)
        try:
            await waiter
        finally:
            watches.discard(agent, waiter)
        return told[0]

    def tell(self, agent: str, watcher: Registration, origin: Origin) -> None:
        """Let an agent be told of the end of another one, by a message."""
        check_name("agent id", agent)
        _check_other(agent, watcher.id)
        self._directory.check_open(watcher.id, inside=False)  # a hub that drains will not come to it
        if watcher.key is not None:
            raise InvalidArgument(
                "agent", agent, f"{watcher.id!r} has an instance for each key, so use `await hub.watch`"
            )
        watcher.handlers.find(watcher.id, AgentEnded)
        tell = partial(self._send, watcher, origin._replace(sender=None))
        if self._directory.has(agent):
            self._watches().add(agent, watcher.id, tell)
        else:
            tell(AgentEnded(agent=agent, reason="absent"))

    def discard(self, agent: str, watcher: str) -> None:
        """Do not tell an agent any more."""
        self._watches().discard(agent, watcher)

    def _send(self, watcher: Registration, origin: Origin, ended: AgentEnded) -> None:
        if self._directory.holds(watcher):
            Notice(self._directory, self._engine, watcher, ended, origin, STANDARD, math.inf).fire()

    def _watches(self) -> Watches:
        watches = self._directory.watches
        if watches is None:
            finish = partial(finish_soon, self._engine, name="stagepost news of an end")
            watches = self._directory.watches = Watches(finish)
        return watches


def _check_other(agent: str, watcher: str) -> None:
    if agent == watcher:
        raise InvalidArgument("agent", agent, "an agent cannot watch itself: use its `on_stop`")
