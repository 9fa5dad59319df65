"""Middleware on the sending side: layers around everything that is sent over a hub."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from stagepost._dataclasses import dataclass

from ._headers import NO_HEADERS, read_headers
from ._message import MessageType

ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)

SendOn: TypeAlias = Callable[[Mapping[str, str]], Awaitable[Any]]
"""What a sending layer awaits, with the headers to send: the next layer, and finally the hub. It returns what the
sender gets: the reply to a request, the report of a publication, None for a one-way message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """What somebody is about to send over a hub.

    Attributes:
        hub: The hub's name.
        type: A request, a notification (one way) or a broadcast; publications to a topic are broadcasts.
        recipient: The agent it is for; None for a broadcast.
        topic: The topic of a publication.
        sender: The agent that sends it, if it is known.
        data: The payload.
        headers: What the sender wants to have attached.
    """

    hub: str
    type: MessageType
    recipient: str | None
    topic: str | None
    sender: str | None
    data: object
    headers: Mapping[str, str]


class Sends(Protocol):
    """A middleware with a method `sending`, which is a layer around everything that is sent.

    It may add headers, raise instead, or change what the sender gets; what it raises, its sender gets. Timers pass it
    when they are planned. A message that is forwarded keeps its headers and does not pass it again.
    """

    async def sending(self, outgoing: Outgoing, send_on: SendOn, /) -> Any:
        """Send, usually by awaiting ``send_on(outgoing.headers)``, perhaps with more headers."""


class Stamped(dict[str, str]):
    """Headers that have passed the layers."""

    __slots__ = ()


class Core(Protocol[ResultT_co]):
    """What finally sends."""

    def __call__(self, *, headers: Stamped) -> Awaitable[ResultT_co]:
        """Send with these headers."""


class SendingLayers:
    """All sending layers of a hub as one function, the first one outside.

    Args:
        hub: The hub's name.
        layers: Middleware with a method `sending`.
    """

    def __init__(self, hub: str, layers: Sequence[Sends]) -> None:
        self._hub = hub
        self._layers = tuple(layers)

    async def __call__(
        self,
        core: Core[ResultT],
        data: object,
        headers: object,
        *,
        type: MessageType,  # noqa: A002  # the word for it everywhere
        recipient: str | None = None,
        topic: str | None = None,
        sender: str | None = None,
    ) -> ResultT:
        """Pass what is sent through all layers to the hub."""
        given = NO_HEADERS if headers is None else read_headers(headers)
        outgoing = Outgoing(
            hub=self._hub, type=type, recipient=recipient, topic=topic, sender=sender, data=data, headers=given
        )
        result: ResultT = await self._from(0, outgoing, core)
        return result

    async def _from(self, depth: int, outgoing: Outgoing, core: Core[Any]) -> Any:
        if depth == len(self._layers):
            return await core(headers=Stamped(outgoing.headers))

        async def send_on(headers: Mapping[str, str]) -> Any:
            return await self._from(depth + 1, _with(outgoing, headers), core)

        return await self._layers[depth].sending(outgoing, send_on)


def _with(outgoing: Outgoing, headers: Mapping[str, str]) -> Outgoing:
    """The same with other headers."""
    return Outgoing(
        hub=outgoing.hub,
        type=outgoing.type,
        recipient=outgoing.recipient,
        topic=outgoing.topic,
        sender=outgoing.sender,
        data=outgoing.data,
        headers=read_headers(headers),
    )
