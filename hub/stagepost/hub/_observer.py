"""Observers of a hub or a run, and the base of their events."""

from dataclasses import field
from time import time
from typing import ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from stagepost._dataclasses import dataclass

Level: TypeAlias = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event: ids, names, counts and durations, never a payload.

    Each kind is a subclass, frozen and with slots too. Its class name is its name in logs.

    Attributes:
        at: When it happened, in Unix seconds.
        level: Its log level; a constant of the class.
    """

    level: ClassVar[Level] = "debug"

    at: float = field(default_factory=time)


class Observer(Protocol):
    """Anything with ``on_event``. It is called inline, in the event loop, and must not block."""

    def on_event(self, event: Event, /) -> None:
        """Take note of an event."""


@runtime_checkable
class Selective(Observer, Protocol):
    """An observer that says which levels it wants, so that other events are not even built."""

    def wants(self, level: Level, /) -> bool:
        """Whether it wants events of a level; asked again whenever an agent wakes up."""


class NullObserver:
    """Observes nothing and costs nothing: with it events are not even built."""

    def on_event(self, event: Event, /) -> None:
        """Ignore the event."""
