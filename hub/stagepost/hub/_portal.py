"""A way into a hub for other threads."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from ._crossing import Crossings
from ._limits import TIMEOUT, Duration
from ._message import Priority
from ._origin import Cause
from ._replies import Replies
from ._report import Delivery
from ._wake import loop_runs_here
from .errors import HubNotStarted, LoopWouldBlock

if TYPE_CHECKING:
    from typing_extensions import TypeForm

ReplyT = TypeVar("ReplyT")
ResultT = TypeVar("ResultT")


class Sender(Protocol):
    """A hub, as its portals see it."""

    @property
    def name(self) -> str:
        """The hub's name."""

    @property
    def send(self) -> Callable[..., Coroutine[Any, Any, None]]:
        """Send one way."""

    @property
    def request(self) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Send a request."""

    @property
    def request_many(self) -> Callable[..., Coroutine[Any, Any, Replies[Any]]]:
        """Send a request to many agents."""

    @property
    def publish(self) -> Callable[..., Coroutine[Any, Any, Delivery]]:
        """Publish."""

    @property
    def broadcast(self) -> Callable[..., Coroutine[Any, Any, Delivery]]:
        """Broadcast."""

    def crossings(self) -> Crossings | None:
        """The calls from other threads, once the hub was entered."""


class Portal:
    """Calls a hub from other threads, without ``await``; see `Hub.portal`.

    Its methods are those of the hub and raise what those raise; they return when the hub's would. They can be called in
    any thread that runs no event loop, by many threads at once. A call that is open when the hub ends raises
    `HubStopped`, also if the event loop ends with the hub.

    In a thread that a handler has started, for example by ``anyio.to_thread.run_sync``, a call belongs to the message
    that is handled: it inherits its trace, its deadline and the chain of those who wait.
    """

    __slots__ = ("_hub",)

    def __init__(self, hub: Sender) -> None:
        self._hub = hub

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
        self._call("send", call, recipient)

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
        return self._call("request", call, recipient)

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
        return self._call("request_many", call, topic)

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
        return self._call(
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
        return self._call("broadcast", partial(self._hub.broadcast, payload, timeout=timeout, ttl=ttl, **options), "*")

    def _call(self, name: str, call: Callable[[], Coroutine[Any, Any, ResultT]], what: object) -> ResultT:
        if loop_runs_here():
            raise LoopWouldBlock(self._hub.name, name)
        crossings = self._hub.crossings()
        if crossings is None:
            raise HubNotStarted(str(what), self._hub.name)
        return crossings.call(call, str(what))
