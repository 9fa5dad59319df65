"""Ready-made observers."""

import logging
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

from ._emitter import Emitter, Relaying
from ._log import get_logger
from ._observer import Event, Level, Observer

_LEVELS = logging.getLevelNamesMapping()


class LogObserver:
    """Writes each event to the logger ``stagepost.events``, at the level of its class and with its fields."""

    __slots__ = ("_logger",)

    def __init__(self, logger: "BoundLogger | None" = None) -> None:
        self._logger = get_logger("events") if logger is None else logger

    def wants(self, level: Level, /) -> bool:
        """Whether its logger is on for a level."""
        return self._logger.isEnabledFor(_LEVELS[level.upper()])

    def on_event(self, event: Event, /) -> None:
        """Log the event if its level is on."""
        level = _LEVELS[event.level.upper()]
        if self._logger.isEnabledFor(level):
            self._logger.log(level, type(event).__name__, **{f.name: getattr(event, f.name) for f in fields(event)})


class MultiObserver(Relaying):
    """Passes each event to several observers in turn; an error in one does not affect the others.

    Attributes:
        emitters: The emitters to them.
    """

    __slots__ = ("emitters",)

    def __init__(self, *observers: Observer) -> None:
        self.emitters = tuple(Emitter(observer) for observer in observers)

    @property
    def failures(self) -> int:
        """How many times one of them failed on an event."""
        return sum(emitter.failures for emitter in self.emitters)

    def wants(self, level: Level, /) -> bool:
        """Whether one of them is interested."""
        return any(emitter.wants(level) for emitter in self.emitters)

    def on_event(self, event: Event, /) -> None:
        """Pass the event to all of them."""
        for emitter in self.emitters:
            emitter.emit(event)
