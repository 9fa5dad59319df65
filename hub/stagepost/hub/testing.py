"""Test helpers for code that uses a hub: a scripted agent, a recording observer, an idle hub, a virtual clock."""

import math
from collections.abc import Callable, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from anyio import Event as Flag
from anyio import wait_all_tasks_blocked

from ._deadlines import TICK
from ._hub import Context, Hub
from ._marks import handles
from ._message import Message
from ._observer import Event
from ._time_slice import TimeSlice
from ._wake import Waiter

__all__ = ["Probe", "Recorder", "VirtualClock", "idle"]

EventT = TypeVar("EventT", bound=Event)


async def idle(hub: Hub) -> None:
    """Wait until nothing is queued or being handled on the hub; return at once if it was not entered.

    It waits for all messages that the hub has accepted, including those that handlers send meanwhile, not for tasks
    outside the hub. A handler that awaits this waits for itself. Put it in a `fail_after`.
    """
    await hub._idle()  # noqa: SLF001 - a helper of the same package, not part of a hub's service


class Probe:
    """An agent for tests: it takes any payload, records the messages and gives scripted replies.

    Args:
        agent: Its id.
        replies: Its replies in order, the last one for ever: a value, an exception to raise, or a function of the
            payload, async or not. Without any it replies None.
    """

    def __init__(self, agent: str = "probe", *, replies: Sequence[object] = ()) -> None:
        self.id = agent
        self.messages: list[Message[Any]] = []
        self._replies = list(replies)
        self._read = 0
        self._time_slice = TimeSlice()
        self._arrived = Flag()

    @property
    def payloads(self) -> list[Any]:
        """The payloads that it got."""
        return [message.data for message in self.messages]

    async def next(self) -> Message[Any]:
        """Wait for the next unread message. Put it in a `fail_after`."""
        await self._time_slice.take()
        while self._read == len(self.messages):
            await self._arrived.wait()
        self._read += 1
        return self.messages[self._read - 1]

    @handles(object)
    async def take(self, payload: object, context: Context) -> object:
        """Handle a message."""
        self.messages.append(context.message)
        arrived, self._arrived = self._arrived, Flag()
        arrived.set()
        reply = self._next_reply()
        if isinstance(reply, BaseException):
            raise reply
        result = reply(payload) if callable(reply) else reply
        return await result if isawaitable(result) else result

    def _next_reply(self) -> object:
        if not self._replies:
            return None
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


class Recorder:
    """An observer that keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._time_slice = TimeSlice()
        self._arrived = Flag()

    def on_event(self, event: Event, /) -> None:
        """Keep the event."""
        self.events.append(event)
        arrived, self._arrived = self._arrived, Flag()
        arrived.set()

    @property
    def names(self) -> list[str]:
        """The names of the events' classes, in order."""
        return [type(event).__name__ for event in self.events]

    def of(self, kind: type[EventT]) -> list[EventT]:
        """The events of a class and its subclasses, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, kind: type[EventT], matching: Callable[[EventT], bool] = lambda _: True) -> EventT:
        """The first event of a class that matches, now or later. Put it in a `fail_after`."""
        await self._time_slice.take()
        while True:
            for event in self.of(kind):
                if matching(event):
                    return event
            await self._arrived.wait()


class VirtualClock:
    """Time that passes only when a test says so, for `Hub`'s ``clock=``: timeouts, deadlines and delays follow it.

    Leaving the hub uses real time, so that a test cannot hang there.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._alarms: dict[Waiter, float] = {}

    def now(self) -> float:
        """Seconds since it was made."""
        return self._now

    async def wait_until(self, waiter: Waiter, moment: float, /) -> None:
        """Wait for a waiter, or until `advance` has reached a time."""
        if moment <= self._now:
            return
        self._alarms[waiter] = moment
        try:
            await waiter
        finally:
            self._alarms.pop(waiter, None)

    async def advance(self, seconds: float) -> None:
        """Let time pass, from one deadline to the next, and let everything run that is due.

        A hub's deadlines fire up to a tick of 4 ms late. Deadlines at the very end fire too, and the time is then after
        that tick.
        """
        target = self._now + seconds
        await wait_all_tasks_blocked()
        while (moment := min(self._alarms.values(), default=math.inf)) <= target + TICK:
            self._now = max(self._now, moment)
            for waiter in [waiter for waiter, due in self._alarms.items() if due <= self._now]:
                del self._alarms[waiter]
                if not waiter.done():
                    waiter.set_result(None)
            await wait_all_tasks_blocked()
        self._now = max(self._now, target)
        await wait_all_tasks_blocked()
