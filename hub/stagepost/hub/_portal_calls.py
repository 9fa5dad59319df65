"""Calls of a hub from other threads."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from ._crossing import Crossings
from ._replies import Replies
from ._reply_stream import ReplyStream
from ._report import Delivery
from ._wake import loop_runs_here
from .errors import HubNotStarted, LoopWouldBlock

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
    def stream(self) -> Callable[..., ReplyStream[Any]]:
        """Ask for a streamed reply."""

    @property
    def publish(self) -> Callable[..., Coroutine[Any, Any, Delivery]]:
        """Publish."""

    @property
    def broadcast(self) -> Callable[..., Coroutine[Any, Any, Delivery]]:
        """Broadcast."""

    def crossings(self) -> Crossings | None:
        """The calls from other threads, once the hub was entered."""


class PortalCalls:
    """The part of a portal that crosses into the event loop of its hub."""

    __slots__ = ("_hub",)

    def __init__(self, hub: Sender) -> None:
        self._hub = hub

    def call(self, name: str, call: Callable[[], Coroutine[Any, Any, ResultT]], what: object) -> ResultT:
        """Call something in the hub's event loop, and wait for the result; not for callers of a hub."""
        if loop_runs_here():
            raise LoopWouldBlock(self._hub.name, name)
        crossings = self._hub.crossings()
        if crossings is None:
            raise HubNotStarted(str(what), self._hub.name)
        return crossings.call(call, str(what))
