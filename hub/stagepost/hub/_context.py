"""A handler's context: its message, and sending as its agent."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, TypeVarTuple, Unpack, cast, overload

from ._envelope import Envelope
from ._expect import expected
from ._limits import TIMEOUT, Duration
from ._message import Message, MessageType, Priority
from ._owned import OwnedTask
from ._publisher import Publisher
from ._registration import Registration
from ._report import Delivery
from ._router import Router, terms_of
from ._sending import Stamped
from ._streaming import StreamingContext
from ._timers import Timer
from ._topics import check_topic

if TYPE_CHECKING:
    from typing_extensions import TypeForm

HubT = TypeVar("HubT")
ReplyT = TypeVar("ReplyT")

ArgumentsT = TypeVarTuple("ArgumentsT")

_SAME: Final = object()


class ActingContext(StreamingContext, Generic[HubT]):
    """Gives a handler its message, and sends as its agent.

    Messages sent through it carry the handled message's id as their cause and the same trace. As long as the handler
    runs, requests also inherit its deadline, so that nobody works for a requester who has given up, and the chain of
    waiting agents, which reveals cycles.

    Attributes:
        envelope: The hub's record of the message.
    """

    __slots__ = ("_hub", "_message", "_publisher", "_router", "envelope")

    def __init__(self, hub: HubT, router: Router, publisher: Publisher, envelope: Envelope) -> None:
        self._hub = hub
        self._router = router
        self._publisher = publisher
        self.envelope = envelope
        self._message: Message[Any] | None = None

    @property
    def hub(self) -> HubT:
        """The hub that the message came over."""
        return self._hub

    @property
    def agent(self) -> str:
        """The id of the agent that handles the message."""
        return self.envelope.recipient.id

    @property
    def message(self) -> Message[Any]:
        """The message that is handled."""
        if self._message is None:
            self._message = self.envelope.message(self._router.stamps)
        return self._message

    async def send(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = TIMEOUT,
        ttl: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> None:
        """Send one way as this agent; see `Hub.send`. Sending to itself never waits: a full mailbox fails at once."""
        async with self._router.time_slice:
            sending = self._router.sending
            if sending is not None and type(headers) is not Stamped:
                again = partial(self.send, recipient, payload, timeout=timeout, ttl=ttl, priority=priority)
                await sending(
                    again, payload, headers, type=MessageType.NOTIFICATION, recipient=recipient, sender=self.agent
                )
                return
            terms = terms_of(headers, priority)
            rest = self._router.send(recipient, payload, self._origin(), terms, timeout, ttl)
            if rest is not None:
                await rest

    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: type[ReplyT],
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> ReplyT: ...
    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: "TypeForm[ReplyT]",
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> ReplyT: ...
    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> object: ...
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: object = object,
        timeout: Duration | None = TIMEOUT,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> object:
        """Send a request as this agent; see `Hub.request`. The deadline of the handled request may shorten the timeout.

        Raises:
            RequestCycle: The recipient waits for this very request, and has no free worker.
        """
        async with self._router.time_slice:
            sending = self._router.sending
            if sending is not None and type(headers) is not Stamped:
                again = partial(
                    self.request,
                    recipient,
                    payload,
                    expect=cast("type[object]", expect),
                    timeout=timeout,
                    priority=priority,
                )
                return await sending(
                    again, payload, headers, type=MessageType.REQUEST, recipient=recipient, sender=self.agent
                )
            terms, origin, wanted = terms_of(headers, priority), self._origin(asks=True), expected(expect)
            envelope, replied = self._router.request(recipient, payload, origin, terms, timeout)
            try:
                await replied
            except BaseException:
                envelope.give_up()
                raise
            return self._router.reply_to(envelope, expect, wanted)

    async def publish(
        self,
        topic: str,
        payload: object,
        *,
        timeout: Duration | None = 0,
        ttl: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> Delivery:
        """Publish as this agent to all subscribers of a topic except itself; see `Hub.publish`."""
        async with self._router.time_slice:
            sending = self._router.sending
            if sending is not None and type(headers) is not Stamped:
                again = partial(self.publish, topic, payload, timeout=timeout, ttl=ttl, priority=priority)
                return await sending(
                    again, payload, headers, type=MessageType.BROADCAST, topic=topic, sender=self.agent
                )
            terms = terms_of(headers, priority, check_topic(topic))
            return await self._publisher.publish(payload, self._origin(), terms, timeout=timeout, ttl=ttl)

    async def broadcast(
        self,
        payload: object,
        *,
        timeout: Duration | None = 0,
        ttl: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> Delivery:
        """Send as this agent to everyone with a handler for it except itself; see `Hub.broadcast`."""
        async with self._router.time_slice:
            sending = self._router.sending
            if sending is not None and type(headers) is not Stamped:
                again = partial(self.broadcast, payload, timeout=timeout, ttl=ttl, priority=priority)
                return await sending(again, payload, headers, type=MessageType.BROADCAST, sender=self.agent)
            terms = terms_of(headers, priority)
            return await self._publisher.publish(payload, self._origin(), terms, timeout=timeout, ttl=ttl)

    async def send_later(
        self,
        recipient: str,
        payload: object,
        *,
        after: Duration | None = None,
        at: datetime | None = None,
        ttl: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> Timer:
        """Plan a one-way message as this agent, perhaps to itself; see `Hub.send_later`. It ends with this agent, too.

        Raises:
            AgentStopped: This agent or the recipient is leaving.
        """
        async with self._router.time_slice:
            sending = self._router.sending
            if sending is not None and type(headers) is not Stamped:
                again: Callable[..., Any] = partial(
                    self.send_later, recipient, payload, after=after, at=at, ttl=ttl, priority=priority
                )
                timer: Timer = await sending(
                    again, payload, headers, type=MessageType.NOTIFICATION, recipient=recipient, sender=self.agent
                )
                return timer
            owner, terms = self._owner("send_later"), terms_of(headers, priority)
            return self._router.agenda.later(recipient, payload, self._origin(), terms, after, at, ttl, owner)

    async def every(
        self,
        interval: Duration,
        recipient: str,
        payload: object,
        *,
        first: Duration | None = None,
        jitter: Duration = 0,
        ttl: Duration | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> Timer:
        """Plan a one-way message at regular intervals as this agent; see `Hub.every`. It ends with this agent, too.

        Raises:
            AgentStopped: This agent or the recipient is leaving.
        """
        async with self._router.time_slice:
            sending = self._router.sending
            if sending is not None and type(headers) is not Stamped:
                again: Callable[..., Any] = partial(
                    self.every, interval, recipient, payload, first=first, jitter=jitter, ttl=ttl, priority=priority
                )
                timer: Timer = await sending(
                    again, payload, headers, type=MessageType.NOTIFICATION, recipient=recipient, sender=self.agent
                )
                return timer
            owner, terms = self._owner("every"), terms_of(headers, priority)
            return self._router.agenda.every(
                interval, recipient, payload, self._origin(), terms, first, jitter, ttl, owner
            )

    def spawn(
        self,
        function: Callable[[Unpack[ArgumentsT]], Coroutine[Any, Any, object]],
        *arguments: *ArgumentsT,
        name: str | None = None,
    ) -> OwnedTask:
        """Start a task that this agent owns, and that goes on when this message was handled; see `Hub.spawn`.

        It may use this context: what it sends has this message as its cause and belongs to the same trace.

        Raises:
            AgentStopped: This agent is leaving.
            HubStopped: The hub has stopped.
            WrongThread: The hub was entered in another thread or event loop.
        """
        return self._router.agenda.spawn(self._owner("spawn"), self.envelope.recipient, function, arguments, name)

    def watch(self, agent: str) -> None:
        """Let this agent be told when another one has ended for good: it gets an `AgentEnded`, as a one-way message.

        It is told once, at once if there is no such agent, and not if it has left itself by then or the hub stops. A
        restart is not an end; an agent that is restarted goes on watching. See also `Hub.watch`.

        Args:
            agent: The other agent's id.

        Raises:
            InvalidName: It is not a valid id.
            InvalidArgument: It is this agent.
            NoHandler: This agent has no handler for `AgentEnded`.
            AgentStopped: This agent is leaving.
            HubStopped: The hub drains or has stopped.
            WrongThread: The hub was entered in another thread or event loop.
        """
        self._router.lookout.tell(agent, self._owner("watch"), self._origin())

    def unwatch(self, agent: str) -> None:
        """Undo `watch`; nothing happens if this agent does not watch that one.

        Raises:
            AgentStopped: This agent is leaving.
            WrongThread: The hub was entered in another thread or event loop.
        """
        self._router.lookout.discard(agent, self._owner("unwatch").id)

    def _owner(self, call: str) -> Registration:
        self._router.check_here(call)
        return self._router.agenda.owner(self.agent, self.envelope.recipient)

    async def forward(self, recipient: str, payload: object = _SAME) -> None:
        """Forward this message to another agent; for a request, also the obligation to answer it.

        The requester gets the other agent's reply or error, and its deadline stays; what this handler returns
        afterwards is ignored. A request does not wait for room here: its requester does.

        Args:
            recipient: The other agent's id.
            payload: What it gets; by default the same payload.

        Raises:
            AlreadyForwarded: It was forwarded before.
            RequestCycle: The other agent waits for this very request, and has no free worker; the obligation stays
                here.
            DeliveryError: The other agent cannot be reached, as with `send`; the obligation stays here.
        """
        async with self._router.time_slice:
            data = self.envelope.payload if payload is _SAME else payload
            rest = self._router.forward(self.envelope, recipient, data)
            if rest is not None:
                await rest
