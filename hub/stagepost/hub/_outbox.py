"""Sending over a hub without a handler's context."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, cast, overload

from ._directory import Directory
from ._engine import Engine
from ._envelope import STANDARD
from ._expect import expected
from ._limits import TIMEOUT, Duration
from ._message import MessageType, Priority
from ._origin import OUTSIDE, Cause
from ._publisher import Publisher
from ._report import Delivery
from ._router import Router, terms_of
from ._running import running_record
from ._sending import SendingLayers, Stamped
from ._time_slice import TimeSlice
from ._topics import check_topic
from .errors import HubNotStarted

if TYPE_CHECKING:
    from typing_extensions import TypeForm

ReplyT = TypeVar("ReplyT")

_NORMAL: Final = Priority.NORMAL  # looking up an enum member costs as much as a call


class Outbox:
    """The part of a hub that sends.

    A message that a running handler of the hub sends, or a task that the handler started, carries cause, trace,
    deadline and the chain of waiting agents as if the handler's context had sent it. Only the sender is not filled in.
    """

    _name: str
    _directory: Directory
    _engine: Engine | None
    _router: Router | None
    _publisher: Publisher | None
    _sending: SendingLayers | None
    _time_slice: TimeSlice

    async def send(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = TIMEOUT,
        ttl: Duration | None = None,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> None:
        """Send one way: return when the recipient's mailbox has the message, not when it is handled.

        Args:
            recipient: The agent's id.
            payload: The payload; shared, not copied.
            timeout: How long to wait for room; 0 to not wait, None for no limit.
            ttl: How long the message is valid: if its handling has not started by then, it is dead; None for ever.
            sender: The id of the sending agent. Inside a handler use `Context.send` instead.
            headers: Text values attached to the message.
            priority: How urgent it is; urgent messages overtake others in the mailbox.
            trace: The trace it belongs to.
            cause: The message that led to this one, or its id: for messages carried over from elsewhere. By default the
                message being handled, if a handler calls this.

        Raises:
            AgentNotFound: Nobody has this id.
            NoHandler: The recipient takes no payload of this class.
            MailboxFull: There was no room in time.
            AgentStopped: The recipient is leaving.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It takes no more work.
        """
        try:
            if self._sending is not None and type(headers) is not Stamped:
                again = partial(
                    self.send,
                    recipient,
                    payload,
                    timeout=timeout,
                    ttl=ttl,
                    sender=sender,
                    priority=priority,
                    trace=trace,
                    cause=cause,
                )
                await self._sending(
                    again, payload, headers, type=MessageType.NOTIFICATION, recipient=recipient, sender=sender
                )
                return
            router = self._router or self._missing(recipient)
            plain = sender is None and trace is None and cause is None and running_record() is None
            origin = OUTSIDE if plain else router.origin(sender, trace, cause)
            terms = STANDARD if headers is None and priority is _NORMAL else terms_of(headers, priority)
            rest = router.send(recipient, payload, origin, terms, timeout, ttl)
            if rest is not None:
                await rest
        except Exception:
            await self._time_slice.take()
            raise

    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: type[ReplyT],
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> ReplyT: ...
    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: "TypeForm[ReplyT]",
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> ReplyT: ...
    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> object: ...
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: object = object,
        timeout: Duration | None = TIMEOUT,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> object:
        """Send a request and return the result of the recipient's handler.

        If the caller is cancelled or the time is up, the handler is cancelled too, unless its agent was registered with
        ``detach=True``.

        Args:
            recipient: The agent's id.
            payload: The payload; shared, not copied.
            expect: The class that the reply must have, or a union of classes; also the type of the result.
            timeout: How long to wait for the reply, including the wait for room; None for no limit.
            sender: The id of the requesting agent. Inside a handler use `Context.request` instead.
            headers: Text values attached to the message.
            priority: How urgent it is; urgent messages overtake others in the mailbox.
            trace: The trace it belongs to.
            cause: The message that led to this one, or its id; see `send`.

        Raises:
            AgentNotFound: Nobody has this id.
            NoHandler: The recipient takes no payload of this class.
            HandlerFailed: The handler raised; ``cause`` is its error.
            UnexpectedReply: The reply is not an instance of `expect`.
            MailboxFull: There was no room, and senders may not wait or the request was dropped for a newer message.
            RequestTimeout: There was no reply in time.
            AgentStopped: The recipient is leaving, or left before it answered.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It takes no more work, or stopped before the reply.
        """
        try:
            if self._sending is not None and type(headers) is not Stamped:
                again = partial(
                    self.request,
                    recipient,
                    payload,
                    expect=cast("type[object]", expect),
                    timeout=timeout,
                    sender=sender,
                    priority=priority,
                    trace=trace,
                    cause=cause,
                )
                return await self._sending(
                    again, payload, headers, type=MessageType.REQUEST, recipient=recipient, sender=sender
                )
            router = self._router or self._missing(recipient)
            plain = sender is None and trace is None and cause is None and running_record() is None
            origin = OUTSIDE if plain else router.origin(sender, trace, cause, asks=True)
            terms = STANDARD if headers is None and priority is _NORMAL else terms_of(headers, priority)
            wanted = expected(expect)
            envelope, replied = router.request(recipient, payload, origin, terms, timeout)
            try:
                await replied
            except BaseException:
                envelope.give_up()
                raise
            return router.reply_to(envelope, expect, wanted)
        except Exception:
            await self._time_slice.take()
            raise

    async def publish(
        self,
        topic: str,
        payload: object,
        *,
        timeout: Duration | None = 0,
        ttl: Duration | None = None,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> Delivery:
        """Publish to all subscribers of a topic except the sender.

        No subscriber can delay the others: it delivers wherever there is room, lets full subscribers work for a moment
        and tries them again. A subscriber that is still full drops its oldest message if that is its policy; otherwise
        it does not get this one, which becomes a dead letter.

        Args:
            topic: Words separated by dots, without wildcards.
            payload: The payload; shared, not copied.
            timeout: How long to wait for room at full subscribers that let senders wait; one limit for all of them.
            ttl: How long the message is valid: if its handling has not started by then, it is dead; None for ever.
            sender: The id of the publishing agent. Inside a handler use `Context.publish` instead.
            headers: Text values attached to the message.
            priority: How urgent it is.
            trace: The trace it belongs to.
            cause: The message that led to this one, or its id; see `send`.

        Returns:
            Who got it and who did not.

        Raises:
            InvalidTopic: The topic does not follow the grammar.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It takes no more work.
        """
        async with self._time_slice:
            if self._sending is not None and type(headers) is not Stamped:
                again = partial(
                    self.publish,
                    topic,
                    payload,
                    timeout=timeout,
                    ttl=ttl,
                    sender=sender,
                    priority=priority,
                    trace=trace,
                    cause=cause,
                )
                return await self._sending(
                    again, payload, headers, type=MessageType.BROADCAST, topic=topic, sender=sender
                )
            publisher, router = self._publisher or self._missing(topic), self._router or self._missing(topic)
            terms, origin = terms_of(headers, priority, check_topic(topic)), router.origin(sender, trace, cause)
            return await publisher.publish(payload, origin, terms, timeout=timeout, ttl=ttl)

    async def broadcast(
        self,
        payload: object,
        *,
        timeout: Duration | None = 0,
        ttl: Duration | None = None,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> Delivery:
        """Send to every agent with a handler for the payload's class, except the sender; otherwise like `publish`."""
        async with self._time_slice:
            if self._sending is not None and type(headers) is not Stamped:
                again = partial(
                    self.broadcast,
                    payload,
                    timeout=timeout,
                    ttl=ttl,
                    sender=sender,
                    priority=priority,
                    trace=trace,
                    cause=cause,
                )
                return await self._sending(again, payload, headers, type=MessageType.BROADCAST, sender=sender)
            publisher, router = self._publisher or self._missing("*"), self._router or self._missing("*")
            terms, origin = terms_of(headers, priority), router.origin(sender, trace, cause)
            return await publisher.publish(payload, origin, terms, timeout=timeout, ttl=ttl)

    def _missing(self, recipient: str) -> NoReturn:
        raise HubNotStarted(recipient, self._name)
