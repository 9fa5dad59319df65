"""What agents plan: messages to be sent later, and tasks of their own."""

import math
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import Any

from ._arguments import check_text
from ._directory import Directory
from ._endpoint import Endpoint
from ._engine import Engine
from ._envelope import Terms
from ._layers import name_of
from ._limits import Duration, seconds
from ._notice import Notice
from ._origin import Origin
from ._owned import OwnedTask
from ._registration import Registration
from ._timers import Timer
from .errors import AgentStopped, InvalidArgument


class Agenda:
    """What is to be done later over a hub, or beside its messages."""

    __slots__ = ("_directory", "_engine")

    def __init__(self, directory: Directory, engine: Engine) -> None:
        self._directory = directory
        self._engine = engine

    def later(  # noqa: PLR0917 - called in two places, with all of it
        self,
        recipient: str,
        payload: object,
        origin: Origin,
        terms: Terms,
        after: Duration | None,
        at: datetime | None,
        ttl: Duration | None,
        owner: Registration | None = None,
    ) -> Timer:
        """Plan one message."""
        delay = _delay(after, at, self._engine)
        return self._plan(recipient, payload, origin, terms, ttl, owner, delay)

    def every(  # noqa: PLR0917 - as above
        self,
        interval: Duration,
        recipient: str,
        payload: object,
        origin: Origin,
        terms: Terms,
        first: Duration | None,
        jitter: Duration,
        ttl: Duration | None,
        owner: Registration | None = None,
    ) -> Timer:
        """Plan messages at regular intervals."""
        period = seconds(interval, "interval")
        if not 0 < period < math.inf:
            raise InvalidArgument("interval", interval, "use seconds above 0, or a timedelta")
        spread = seconds(jitter, "jitter")
        if spread > period:
            raise InvalidArgument("jitter", jitter, "use at most the interval")
        delay = period if first is None else _finite(first, "first")
        return self._plan(recipient, payload, origin, terms, ttl, owner, delay, every=period, jitter=spread)

    def spawn(
        self,
        registration: Registration,
        endpoint: object,
        function: Callable[..., Coroutine[Any, Any, object]],
        arguments: tuple[object, ...],
        name: str | None,
    ) -> OwnedTask:
        """Start a task that an agent owns, or one of its instances: the one with this endpoint."""
        if not callable(function):
            raise InvalidArgument("function", function, "pass the async function itself, without calling it")
        title = name_of(function) if name is None else check_text("name", name)
        self._directory.check_open(registration.id, inside=True)
        own = endpoint if isinstance(endpoint, Endpoint) else registration.own_endpoint(self._engine)
        return own.workers.spawn(title, partial(_call, function, arguments))

    def owner(self, agent: str, endpoint: object) -> Registration:
        """The registration of an agent that plans something during its handling of a message.

        Raises:
            AgentStopped: It is leaving, or has left.
        """
        registration = self._directory.agents.get(agent)
        if registration is None or not registration.owns(endpoint):
            raise AgentStopped(agent)
        return registration

    def _plan(  # noqa: PLR0917 - as above
        self,
        recipient: str,
        payload: object,
        origin: Origin,
        terms: Terms,
        ttl: Duration | None,
        owner: Registration | None,
        delay: float,
        *,
        every: float | None = None,
        jitter: float = 0.0,
    ) -> Timer:
        engine = self._engine
        self._directory.check_open(recipient, inside=False)  # a hub that drains will not come to it
        registration = self._directory.member(recipient)
        notice = Notice(self._directory, engine, registration, payload, origin, terms, seconds(ttl, "ttl"))
        agents = (registration,) if owner is None or owner is registration else (registration, owner)
        start = engine.stamps.clock() + delay
        timer = Timer(
            engine, notice, agents, payload=type(payload).__qualname__, start=start, every=every, jitter=jitter
        )
        timer.owner = None if owner is None else owner.id
        return timer


async def _call(function: Callable[..., Coroutine[Any, Any, object]], arguments: tuple[object, ...]) -> None:
    await function(*arguments)


def _delay(after: Duration | None, at: datetime | None, engine: Engine) -> float:
    if (after is None) == (at is None):
        raise InvalidArgument("after", after, "give either after= or at=")
    if at is None:
        return _finite(after, "after")
    return max(0.0, _moment(at) - engine.stamps.wall(engine.stamps.clock()))


def _moment(at: object) -> float:
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise InvalidArgument("at", at, "use a datetime with a time zone: datetime.now(UTC)")
    return at.timestamp()


def _finite(duration: Duration | None, what: str) -> float:
    value = seconds(duration, what)
    if value == math.inf:
        raise InvalidArgument(what, duration, "use seconds from 0 up, or a timedelta")
    return value
