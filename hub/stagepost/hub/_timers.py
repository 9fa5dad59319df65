"""Messages that are sent later, once or again and again."""

import math
from random import random
from typing import Protocol

from ._deadlines import Bucket
from ._engine import Engine, Planned
from ._envelope import Envelope, EnvelopeState
from ._registration import Registration

_OVER = (EnvelopeState.ENDED, EnvelopeState.TURNED_AWAY)


class Shot(Protocol):
    """What a timer sends."""

    def fire(self) -> Envelope | None:
        """Send it now; None if the hub takes no messages any more."""


class Timer:
    """A message that a hub sends later, once or again and again; see `Hub.send_later` and `Hub.every`.

    Attributes:
        recipient: The agent it is for.
        owner: The agent that has planned it through its context, if one did.
        payload: The name of the payload's class.
        every: The seconds between two messages; None for a single one.
        fired: How many messages it has sent.
        skipped: How many it has left out, because the one before had not ended or the event loop was late.
    """

    __slots__ = (
        "_bucket",
        "_due",
        "_engine",
        "_jitter",
        "_last",
        "_lists",
        "_shot",
        "_start",
        "_turn",
        "every",
        "fired",
        "owner",
        "payload",
        "recipient",
        "skipped",
    )

    def __init__(
        self,
        engine: Engine,
        shot: Shot,
        agents: tuple[Registration, ...],
        *,
        payload: str,
        start: float,
        every: float | None = None,
        jitter: float = 0.0,
    ) -> None:
        self.recipient = agents[0].id
        self.owner = agents[1].id if len(agents) > 1 else None
        self.payload = payload
        self.every = every
        self.fired = self.skipped = 0
        self._engine = engine
        self._shot: Shot | None = shot
        self._start = start
        self._turn = 0
        self._jitter = jitter
        self._last: Envelope | None = None
        self._bucket: Bucket | None = None
        self._due = math.inf
        self._lists: list[dict[Planned, None]] = [engine.timers]
        for agent in agents:
            agent.timers = {} if agent.timers is None else agent.timers
            self._lists.append(agent.timers)
        for timers in self._lists:
            timers[self] = None
        self._arm()

    @property
    def is_active(self) -> bool:
        """Whether it will send another message."""
        return self._shot is not None

    @property
    def next_at(self) -> float | None:
        """When it sends the next message, in Unix seconds; None if it will not."""
        return None if self._shot is None else self._engine.stamps.wall(self._due)

    def cancel(self) -> bool:
        """Send nothing more. A message that was sent already stays sent.

        Returns:
            Whether there was something left to cancel.

        Raises:
            WrongThread: The hub was entered in another thread or event loop.
        """
        self._engine.check_here("cancel")
        was_active = self.is_active
        self.end()
        return was_active

    def end(self) -> None:
        """End it: it is over, or one of its agents has left; not for callers of a hub, who have `cancel`."""
        self._shot = self._last = None
        if self._bucket is not None:
            self._bucket.pop(self, None)
            self._bucket = None
        for timers in self._lists:
            timers.pop(self, None)

    def expire(self) -> None:
        """It is time; called by `Deadlines`."""
        shot, self._bucket = self._shot, None
        assert shot is not None  # noqa: S101 - whoever ends it takes it out of its bucket
        if self._last is not None and self._last.state not in _OVER:
            self.skipped += 1
        else:
            self._last = shot.fire()
            self.fired += self._last is not None
            if self._last is None:
                self.end()
        if self._shot is not None:
            self._go_on()

    def _go_on(self) -> None:
        """Plan the next message at its place in the grid, which delays do not move."""
        if self.every is None:
            self.end()
            return
        late = math.ceil((self._engine.stamps.clock() - self._start) / self.every)
        self.skipped += max(0, late - self._turn - 1)
        self._turn = max(self._turn + 1, late)
        self._arm()

    def _arm(self) -> None:
        shift = random() * self._jitter if self._jitter else 0.0  # noqa: S311 - nobody must be unable to guess it
        self._due = self._start + self._turn * (self.every or 0.0) + shift
        self._bucket = self._engine.deadlines.add(self, self._due)
