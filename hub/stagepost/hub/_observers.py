"""Ready-made observers."""

import logging
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

from ._emitter import Emitter, Relaying
from ._log import get_logger
from ._observer import Event, Level, Observer
from ._words import short_id, words_of

_LEVELS = logging.getLevelNamesMapping()


class LogObserver:
    """Writes each event to the logger ``stagepost.events``, at the level of its class.

    Its text is the event in words, and ids are short: what begins with ``8f2c-`` is a message of the hub with that
    number. An event whose class has no words (`Event.log_words`) is logged by its class's name, with all its fields.

    Args:
        logger: Another logger.
        fields: Log all events by their class's name, with all fields and whole ids, for programs that read the log.
    """

    __slots__ = ("_all", "_logger")

    def __init__(self, logger: "BoundLogger | None" = None, *, fields: bool = False) -> None:
        self._logger = get_logger("events") if logger is None else logger
        self._all = fields

    def wants(self, level: Level, /) -> bool:
        """Whether its logger is on for a level."""
        return self._logger.isEnabledFor(_LEVELS[level.upper()])

    def on_event(self, event: Event, /) -> None:
        """Log the event if its level is on."""
        level = _LEVELS[event.level.upper()]
        if self._logger.isEnabledFor(level):
            words = None if self._all else words_of(event)
            if words is None:
                self._logger.log(level, type(event).__name__, **{f.name: getattr(event, f.name) for f in fields(event)})
            else:
                self._logger.log(level, words, **_named(event))


def _named(event: Event) -> dict[str, object]:
    """What stands beside the words of an event, with short ids."""
    named = {name: getattr(event, name) for name in type(event).log_names}
    return {name: short_id(value) if isinstance(value, str) else value for name, value in named.items()}


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
