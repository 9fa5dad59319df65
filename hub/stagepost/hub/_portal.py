"""A way into a hub for other threads."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._limits import TIMEOUT, Duration
from ._message import Priority
from ._origin import Cause
from ._portal_stream import StreamingPortal
from ._replies import Replies
from ._report import Delivery

if TYPE_CHECKING:
    from typing_extensions import TypeForm

ReplyT = TypeVar("ReplyT")


class Portal(StreamingPortal):
    """Calls a hub from other threads, without ``await``; see `Hub.portal`.

    Its methods are those of the hub and raise what those raise; they return when the hub's would. They can be called in
    any thread that runs no event loop, by many threads at once. A call that is open when the hub ends raises
    `HubStopped`, also if the event loop ends with the hub.

    In a thread that a handler has started, for example by ``anyio.to_thread.run_sync``, a call belongs to the message
    that is handled: it inherits its trace, its deadline and the chain of those who wait.
    """

    __slots__ = ()

    def send(
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
        """Send one way; see `Hub.send`.

        Raises:
            LoopWouldBlock: An event loop runs in this thread.
        """
        options = {"sender": sender, "headers": headers, "priority": priority, "trace": trace, "cause": cause}
        call = partial(self._hub.send, recipient, payload, timeout=timeout, ttl=ttl, **options)
        self.call("send", call, recipient)

    @overload
    def request(
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
    def request(
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
    def request(
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
    def request(
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
        """Send a request and return the reply; see `Hub.request`.

        Raises:
            LoopWouldBlock: An event loop runs in this thread.
        """
        options = {"sender": sender, "headers": headers, "priority": priority, "trace": trace, "cause": cause}
        call = partial(self._hub.request, recipient, payload, expect=expect, timeout=timeout, **options)
        return self.call("request", call, recipient)

    @overload
    def request_many(
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
    def request_many(
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
    def request_many(
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
    def request_many(
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
        """Send a request to the subscribers of a topic and collect their replies; see `Hub.request_many`.

        Raises:
            LoopWouldBlock: An event loop runs in this thread.
        """
        options = {"sender": sender, "headers": headers, "priority": priority, "trace": trace, "cause": cause}
        call = partial(self._hub.request_many, topic, payload, enough=enough, expect=expect, timeout=timeout, **options)
        return self.call("request_many", call, topic)

    def publish(
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
        """Publish to the subscribers of a topic; see `Hub.publish`.

        Raises:
            LoopWouldBlock: An event loop runs in this thread.
        """
        options = {"sender": sender, "headers": headers, "priority": priority, "trace": trace, "cause": cause}
        return self.call(
            "publish", partial(self._hub.publish, topic, payload, timeout=timeout, ttl=ttl, **options), topic
        )

    def broadcast(
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
        """Send to every agent with a handler for it; see `Hub.broadcast`.

        Raises:
            LoopWouldBlock: An event loop runs in this thread.
        """
        options = {"sender": sender, "headers": headers, "priority": priority, "trace": trace, "cause": cause}
        return self.call("broadcast", partial(self._hub.broadcast, payload, timeout=timeout, ttl=ttl, **options), "*")
