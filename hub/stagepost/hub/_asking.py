"""Requests to many agents, without a handler's context and with one."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from ._envelope import Envelope
from ._limits import TIMEOUT, Duration
from ._message import MessageType, Priority
from ._origin import Cause, Origin, origin_within
from ._publisher import Publisher
from ._replies import Replies
from ._router import Router, terms_of
from ._sending import SendingLayers, Stamped
from ._time_slice import TimeSlice
from ._topics import check_topic
from .errors import HubNotStarted

if TYPE_CHECKING:
    from typing_extensions import TypeForm

ReplyT = TypeVar("ReplyT")


class Asking:
    """The part of a hub that asks many agents at once."""

    _name: str
    _publisher: Publisher | None
    _router: Router | None
    _sending: SendingLayers | None
    _time_slice: TimeSlice

    @overload
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = ...,
        expect: type[ReplyT],
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> Replies[ReplyT]: ...
    @overload
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = ...,
        expect: "TypeForm[ReplyT]",
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> Replies[ReplyT]: ...
    @overload
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = ...,
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
        trace: str | None = ...,
        cause: Cause | None = ...,
    ) -> Replies[object]: ...
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = None,
        expect: object = object,
        timeout: Duration | None = TIMEOUT,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
        trace: str | None = None,
        cause: Cause | None = None,
    ) -> Replies[Any]:
        """Send a request to all agents that subscribe to a topic, except the sender, and collect their replies.

        It returns when all have replied or failed, when enough have replied, or when the time is up. Handlers that are
        not needed any more are cancelled then, as those of a `request` that is given up; that also happens if the
        caller is cancelled. No agent's failure is raised: errors are in the result, beside the replies.

        Args:
            topic: Words separated by dots, without wildcards.
            payload: The payload; shared, not copied.
            enough: How many replies are enough; None for all. If more come at the same moment, all are returned.
            expect: The class that each reply must have; see `request`. Others count as failures.
            timeout: How long to wait for the replies, including the wait for room; None for no limit.
            sender: The id of the requesting agent. Inside a handler use `Context.request_many` instead.
            headers: Text values attached to the messages.
            priority: How urgent they are.
            trace: The trace they belong to; by default they share one.
            cause: The message that led to them, or its id; see `send`.

        Returns:
            The replies, the failures, and who did not answer. Listeners are not asked.

        Raises:
            InvalidTopic: The topic does not follow the grammar.
            InvalidArgument: Another argument has the wrong type or value.
            HubNotStarted: The hub has not been entered yet.
            HubStopped: It takes no more work.
        """
        async with self._time_slice:
            if self._sending is not None and type(headers) is not Stamped:
                again = partial(
                    self.request_many,
                    topic,
                    payload,
                    enough=enough,
                    expect=cast("type[Any]", expect),
                    timeout=timeout,
                    sender=sender,
                    priority=priority,
                    trace=trace,
                    cause=cause,
                )
                return await self._sending(
                    again, payload, headers, type=MessageType.REQUEST, topic=topic, sender=sender
                )
            publisher, router = self._publisher, self._router
            if publisher is None or router is None:
                raise HubNotStarted(topic, self._name)
            terms = terms_of(headers, priority, check_topic(topic))
            origin = router.origin(sender, trace, cause, asks=True)
            return await publisher.ask(payload, origin, terms, timeout=timeout, enough=enough, expect=expect)


class AskingContext:
    """The part of a context that asks many agents at once."""

    __slots__ = ()

    _publisher: Publisher
    _router: Router
    envelope: Envelope

    @overload
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = ...,
        expect: type[ReplyT],
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> Replies[ReplyT]: ...
    @overload
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = ...,
        expect: "TypeForm[ReplyT]",
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> Replies[ReplyT]: ...
    @overload
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = ...,
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
        priority: Priority = ...,
    ) -> Replies[object]: ...
    async def request_many(
        self,
        topic: str,
        payload: object,
        *,
        enough: int | None = None,
        expect: object = object,
        timeout: Duration | None = TIMEOUT,
        headers: Mapping[str, str] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> Replies[Any]:
        """Send a request as this agent to all subscribers of a topic except itself; see `Hub.request_many`.

        The deadline of the handled request may shorten the timeout. An agent that waits for this very request, and has
        no free worker, is among the failures, with `RequestCycle`.
        """
        async with self._router.time_slice:
            sending = self._router.sending
            if sending is not None and type(headers) is not Stamped:
                again = partial(
                    self.request_many,
                    topic,
                    payload,
                    enough=enough,
                    expect=cast("type[Any]", expect),
                    timeout=timeout,
                    priority=priority,
                )
                return await sending(
                    again, payload, headers, type=MessageType.REQUEST, topic=topic, sender=self.envelope.recipient.id
                )
            terms, origin = terms_of(headers, priority, check_topic(topic)), self._origin(asks=True)
            return await self._publisher.ask(payload, origin, terms, timeout=timeout, enough=enough, expect=expect)

    def _origin(self, *, asks: bool = False) -> Origin:
        return origin_within(self.envelope, self.envelope.recipient.id, self._router.stamps, asks=asks)
