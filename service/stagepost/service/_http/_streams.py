"""How many streams are open, and how many may be."""

from collections import Counter
from collections.abc import AsyncIterable, Iterator
from contextlib import ExitStack, contextmanager

from sse_starlette import EventSourceResponse
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ..errors import TooManyStreams
from ._limits import RequestLimits


class OpenStreams:
    """Counts the streams of a service.

    Args:
        limits: How many there may be.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._open: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """How many are open."""
        return self._open.total()

    @property
    def send_timeout(self) -> float | None:
        """Seconds that a client may take to accept a piece."""
        return self._limits.send_timeout

    @contextmanager
    def admitted(self, caller: str) -> Iterator[None]:
        """Have one more open for as long as a block lasts.

        Raises:
            TooManyStreams: There are as many as may be.
        """
        most, most_of_one = self._limits.streams, self._limits.streams_per_caller
        if most is not None and self._open.total() >= most:
            raise TooManyStreams(most, by_caller=False)
        if most_of_one is not None and self._open[caller] >= most_of_one:
            raise TooManyStreams(most_of_one, by_caller=True)
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]


class EventStream(EventSourceResponse):
    """Server-sent events that count as an open stream for as long as they are sent.

    It ends when the client has gone, when the server is asked to end, and when the client has not accepted a piece
    within `RequestLimits.send_timeout`.

    Args:
        content: The events: bytes as they are sent (`stagepost.agents.sse_event`), or `sse_starlette.ServerSentEvent`.
        streams: Where it counts.
        who: Whose it is.
        ping: After how many seconds a comment is sent, by which a client that has gone is noticed.
        headers: Further headers.
        admission: What `OpenStreams.admitted` has given for it, and was entered; by default it is asked for when the
            events are sent.
    """

    def __init__(
        self,
        content: AsyncIterable[object],
        *,
        streams: OpenStreams,
        who: str,
        ping: float = 15.0,
        headers: dict[str, str] | None = None,
        admission: ExitStack | None = None,
    ) -> None:
        super().__init__(content, ping=ping, headers=headers, sep="\n", send_timeout=streams.send_timeout)
        self._streams = streams
        self._who = who
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; of a ``HEAD`` request only the headers, and nothing is listened to."""
        if scope["method"] == "HEAD":
            await Response(headers=dict(self.headers))(scope, receive, send)
            return
        is_open = False

        async def followed(message: Message) -> None:
            nonlocal is_open
            await send(message)
            is_open = message["type"] == "http.response.start" or message.get("more_body", False)

        with self._admission or self._streams.admitted(self._who):
            await super().__call__(scope, receive, followed)
            if is_open:  # the service ends: so does the answer, which else would look as if it was cut off
                await send({"type": "http.response.body", "body": b"", "more_body": False})
