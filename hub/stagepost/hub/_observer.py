"""Observers of a hub or a run, and the base of their events."""

from collections.abc import Mapping
from dataclasses import field
from time import time
from types import MappingProxyType
from typing import ClassVar, Final, Literal, Protocol, TypeAlias, runtime_checkable

from stagepost._dataclasses import dataclass

Level: TypeAlias = Literal["debug", "info", "warning", "error"]

_SEVERITY: Final[Mapping[Level, int]] = MappingProxyType({"debug": 5, "info": 9, "warning": 13, "error": 17})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event: ids, names, counts and durations, never a payload.

    Each kind is a subclass, frozen and with slots too. Its class name is its name in logs that show all fields.

    Attributes:
        at: When it happened, in Unix seconds.
        level: Its log level; a constant of the class.
        log_words: The event in words, for logs that people read: a template with the names of fields in braces, such as
            ``"{agent} was registered"``; see `LogObserver`.
        log_names: The fields that such a log shows beside the words.
    """

    level: ClassVar[Level] = "debug"
    log_words: ClassVar[str] = ""
    log_names: ClassVar[tuple[str, ...]] = ()

    at: float = field(default_factory=time)

    @property
    def severity(self) -> int:
        """Its level as a severity number of OpenTelemetry: 5 for debug, 9 for info, 13 for warning, 17 for error."""
        return _SEVERITY[self.level]


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
