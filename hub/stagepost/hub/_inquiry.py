"""One request to many agents, whose replies one task awaits."""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Any, Final

from ._engine import Engine
from ._envelope import Envelope, Terms
from ._expect import Expected
from ._origin import Origin
from ._replies import Replies
from ._router import Router
from ._stopping import finish
from ._wake import Unawaited, Waiter
from .errors import DeliveryError, RequestTimeout


class _Slot(Unawaited):
    """Stands where a requester would wait for one of the agents."""

    __slots__ = ("_agent", "_envelope", "_inquiry")

    def __init__(self, inquiry: "Inquiry", agent: str, envelope: Envelope) -> None:
        self._inquiry = inquiry
        self._agent = agent
        self._envelope = envelope

    def set_result(self, result: None, /) -> None:  # noqa: ARG002 - the signature of a future
        """There is a reply or an error."""
        self._inquiry.note_over(self._agent, self._envelope)


class Inquiry:
    """Requests with one payload to many agents. They share a trace and a deadline.

    Args:
        due: When the replies are due, on the hub's clock.
        enough: How many replies end it.
        expect: What the sender expects of each reply.
        wanted: The same, parsed.
    """

    __slots__ = (
        "_due",
        "_engine",
        "_enough",
        "_expect",
        "_failures",
        "_open",
        "_origin",
        "_over",
        "_payload",
        "_received",
        "_router",
        "_terms",
        "_unanswered",
        "_waiter",
        "_wanted",
    )

    def __init__(
        self,
        engine: Engine,
        router: Router,
        payload: object,
        origin: Origin,
        terms: Terms,
        *,
        due: float,
        enough: float,
        expect: object,
        wanted: type | Expected,
    ) -> None:
        self._engine: Final = engine
        self._router: Final = router
        self._payload = payload
        self._origin = origin
        self._terms = terms
        self._due = due
        self._enough = enough
        self._expect = expect
        self._wanted = wanted
        self._open: dict[str, Envelope] = {}
        self._over: deque[tuple[str, Envelope]] = deque()
        self._waiter: Waiter | None = None
        self._received: dict[str, Any] = {}
        self._failures: dict[str, DeliveryError] = {}
        self._unanswered: dict[str, None] = {}

    async def ask(self, agents: Iterable[str]) -> Replies[Any]:
        """Ask all of them, and wait until enough have replied or the rest will not."""
        time_slice = self._engine.time_slice
        try:
            for agent in agents:
                if len(self._received) >= self._enough:
                    self._unanswered[agent] = None
                else:
                    self._ask(agent)
                    await time_slice.take()
                    await self._read()
            while self._open and len(self._received) < self._enough:
                await self._next()
                await self._read()
        finally:
            await finish(self._withdraw(), time_slice)
        return Replies(
            received=MappingProxyType(self._received),
            failures=MappingProxyType(self._failures),
            unanswered=tuple(self._unanswered),
        )

    def note_over(self, agent: str, envelope: Envelope) -> None:
        """An agent has replied or failed."""
        self._over.append((agent, envelope))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _ask(self, agent: str) -> None:
        timeout = None if self._due == math.inf else max(0.0, self._due - self._engine.stamps.clock())
        try:
            envelope, _ = self._router.request(agent, self._payload, self._origin, self._terms, timeout)
        except DeliveryError as error:
            self._note_failure(agent, error)
            return
        envelope.waiter = _Slot(self, agent, envelope)
        self._open[agent] = envelope
        trail = self._origin.trail
        if trail.trace is None:
            trace = envelope.trace(self._engine.stamps)
            self._origin = self._origin._replace(trail=trail._replace(trace=trace))

    async def _next(self) -> None:
        """Wait until one more has replied or failed."""
        self._waiter = self._engine.new_waiter()
        await self._waiter
        self._waiter = None

    async def _read(self) -> None:
        """Take all that has come."""
        while self._over:
            agent, envelope = self._over.popleft()
            del self._open[agent]
            try:
                self._received[agent] = self._router.reply_to(envelope, self._expect, self._wanted)
            except DeliveryError as error:
                self._note_failure(agent, error)
            await self._engine.time_slice.take()

    def _note_failure(self, agent: str, error: DeliveryError) -> None:
        if isinstance(error, RequestTimeout):
            self._unanswered[agent] = None
        else:
            self._failures[agent] = error.with_traceback(None)  # a traceback would keep all of this alive

    def _withdraw(self) -> Iterator[None]:
        """Give up what is open, one request per step: nobody needs it any more."""
        while self._open:
            agent, envelope = self._open.popitem()
            self._unanswered[agent] = None
            envelope.give_up()
            yield
