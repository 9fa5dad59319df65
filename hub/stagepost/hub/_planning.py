"""Planning over a hub without a handler's context."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVarTuple, Unpack

from ._directory import Directory
from ._limits import Duration
from ._message import MessageType, Priority
from ._origin import Cause
from ._owned import OwnedTask
from ._router import Router, terms_of
from ._sending import SendingLayers, Stamped
from ._time_slice import TimeSlice
from ._timers import Timer
from .errors import HubNotStarted

ArgumentsT = TypeVarTuple("ArgumentsT")


class Planning:
    """The part of a hub that sends later, and starts tasks for agents."""

    _directory: Directory
    _name: str
    _router: Router | None
    _sending: SendingLayers | None
    _time_slice: TimeSlice

    async def send_later(
        self,
        recipient: str,
        payload: object,
        *,
        after: Duration | None = None,
        at: datetime | None = None,
        ttl: Duration | None = None,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> Timer:
        """Plan a one-way message: it is sent up to 4 ms after its time, and never before.

        It lives in memory, and ends unsent with its recipient, with the agent that planned it through its context, and
        when the hub drains. Nobody waits for it: if the recipient's mailbox is full, it waits for room as the message
        of any sender; if it finds none within the timeout of the hub, or may not wait, it is a dead letter.

        Args:
            recipient: The agent's id.
            payload: The payload; shared, not copied.
            after: How long to wait.
            at: When to send it, with a time zone; at once if that has passed. The delay is computed now: later changes
                of the system's clock do not matter.
            ttl: How long the message is valid once it was sent; see `send`.
            sender: The id of the sending agent. Inside a handler use `Context.send_later` instead.
            headers: Text values attached to the message.
            priority: How urgent it is.
            trace: The trace it belongs to.
            cause: The message that led to this one, or its id; see `send`.

        Returns:
            The timer, which can be cancelled. `describe` lists those that are active.

        Raises:
            AgentNotFound: Nobody has this id.
            NoHandler: The recipient takes no payload of this class.
            AgentStopped: The recipient is leaving.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It takes no more work.
        """
        async with self._time_slice:
            if self._sending is not None and type(headers) is not Stamped:
                options: dict[str, Any] = {
                    "ttl": ttl,
                    "sender": sender,
                    "priority": priority,
                    "trace": trace,
                    "cause": cause,
                }
                again: Callable[..., Any] = partial(self.send_later, recipient, payload, after=after, at=at, **options)
                timer: Timer = await self._sending(
                    again, payload, headers, type=MessageType.NOTIFICATION, recipient=recipient, sender=sender
                )
                return timer
            router = self._planner(recipient, "send_later")
            terms, origin = terms_of(headers, priority), router.origin(sender, trace, cause)
            return router.agenda.later(recipient, payload, origin, terms, after, at, ttl)

    async def every(
        self,
        interval: Duration,
        recipient: str,
        payload: object,
        *,
        first: Duration | None = None,
        jitter: Duration = 0,
        ttl: Duration | None = None,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> Timer:
        """Plan a one-way message at regular intervals, until the timer is cancelled or ends; see `send_later`.

        The times lie in a grid that begins with the first message, so that delays do not add up. A message is left out
        while the one before it is queued or handled, or if the event loop comes to it too late.

        Args:
            interval: The time between two messages.
            recipient: The agent's id.
            payload: The payload of each message; shared, not copied.
            first: How long to wait for the first one; by default one interval.
            jitter: Delay each message by a random time up to this, at most the interval.
            ttl: How long each message is valid; see `send`.
            sender: The id of the sending agent. Inside a handler use `Context.every` instead.
            headers: Text values attached to each message.
            priority: How urgent it is.
            trace: The trace that all of them belong to; by default each has its own.
            cause: The message that led to them, or its id; see `send`.

        Returns:
            The timer.

        Raises:
            AgentNotFound: Nobody has this id.
            NoHandler: The recipient takes no payload of this class.
            AgentStopped: The recipient is leaving.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It takes no more work.
        """
        async with self._time_slice:
            if self._sending is not None and type(headers) is not Stamped:
                options: dict[str, Any] = {
                    "ttl": ttl,
                    "sender": sender,
                    "priority": priority,
                    "trace": trace,
                    "cause": cause,
                }
                again: Callable[..., Any] = partial(
                    self.every, interval, recipient, payload, first=first, jitter=jitter, **options
                )
                timer: Timer = await self._sending(
                    again, payload, headers, type=MessageType.NOTIFICATION, recipient=recipient, sender=sender
                )
                return timer
            router = self._planner(recipient, "every")
            terms, origin = terms_of(headers, priority), router.origin(sender, trace, cause)
            return router.agenda.every(interval, recipient, payload, origin, terms, first, jitter, ttl)

    def spawn(
        self,
        agent: str,
        function: Callable[[Unpack[ArgumentsT]], Coroutine[Any, Any, object]],
        *arguments: *ArgumentsT,
        name: str | None = None,
    ) -> OwnedTask:
        """Start a task that an agent owns, for example in its ``on_start``; in a handler use `Context.spawn`.

        The task ends with its agent: it is cancelled once the agent has handled its last message, is restarted, or the
        hub ends, and `unregister` and leaving the hub wait for it. If it raises, that is logged, and the agent's
        supervision applies as if a handler had failed.

        Args:
            agent: The agent's id.
            function: An async function.
            *arguments: Its arguments.
            name: The task's name in `describe` and logs; by default the function's.

        Returns:
            The task, which can be cancelled.

        Raises:
            AgentNotFound: Nobody has this id.
            AgentStopped: The agent is leaving.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: The hub has stopped.
            WrongThread: The hub was entered in another thread or event loop.
        """
        return self._planner(agent, "spawn").agenda.spawn(
            self._directory.member(agent), None, function, arguments, name
        )

    def _planner(self, agent: str, call: str) -> Router:
        if self._router is None:
            raise HubNotStarted(agent, self._name)
        self._router.check_here(call)
        return self._router
