"""Payloads and agents that the tests of the hub share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from anyio import Event as Flag
from anyio.lowlevel import checkpoint

from stagepost.hub import Context, Event, handles


@dataclass(frozen=True)
class Ping:
    number: int = 0


@dataclass(frozen=True)
class Pong:
    number: int


@dataclass(frozen=True)
class LoudPing(Ping):
    volume: int = 11


async def echo(ping: Ping) -> Pong:
    return Pong(ping.number)


async def fail(ping: Ping) -> None:
    raise ZeroDivisionError("no")


class Gate:
    """A handler that notes what it gets and waits until the gate is opened."""

    def __init__(self, agent: str = "gate") -> None:
        self.id = agent
        self.entered = Flag()
        self.opened = Flag()
        self.cancelled = Flag()
        self.seen: list[int] = []

    @handles
    async def pass_through(self, ping: Ping) -> Pong:
        self.seen.append(ping.number)
        self.entered.set()
        try:
            await self.opened.wait()
        except BaseException:
            self.cancelled.set()
            raise
        return Pong(ping.number)


@dataclass
class Recorder:
    """An observer that keeps all events."""

    events: list[Event] = field(default_factory=list)

    def on_event(self, event: Event, /) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


class Relay:
    """An agent that asks another one."""

    def __init__(self, agent: str, target: str, timeout: float | None = None) -> None:
        self.id = agent
        self.target = target
        self.timeout = timeout

    @handles
    async def pass_on(self, ping: Ping, context: Context) -> Pong:
        return await context.request(self.target, ping, expect=Pong, timeout=self.timeout)


async def until(condition: Callable[[], bool]) -> None:
    """Let other tasks run until something is so; put it in a `fail_after`."""
    while not condition():
        await checkpoint()


ErrorT = TypeVar("ErrorT", bound=BaseException)


async def error_of(kind: type[ErrorT], call: Callable[[], object], into: list[ErrorT]) -> None:
    """Await a call that must raise, and keep the error; for task groups."""
    try:
        await call()  # type: ignore[misc]  # any awaitable
    except kind as error:
        into.append(error)
