"""The safe way to an observer."""

from ._log import get_logger
from ._masks import Mask
from ._observer import Event, Level, NullObserver, Observer, Selective


class Emitter:
    """Hands events to an observer and contains whatever it raises.

    Guard the building of an event in a hot path with ``if emitter.enabled:``.

    Attributes:
        enabled: Whether anybody listens.
        failures: How many events the observer failed on. The first failure is logged, the others only counted.
    """

    __slots__ = ("_asks", "_mask", "_observer", "enabled", "failures")

    def __init__(self, observer: Observer | None = None, *, mask: Mask | None = None) -> None:
        self._observer = NullObserver() if observer is None else observer
        self.enabled = not isinstance(self._observer, NullObserver)
        self._asks = self._observer.wants if self.enabled and isinstance(self._observer, Selective) else None
        self.failures = 0
        self._mask = mask

    def wants(self, level: Level) -> bool:
        """Whether anybody listens to events of a level."""
        return self.enabled and (self._asks is None or self._asks(level))

    def emit(self, event: Event) -> None:
        """Tell the observer. Never raises an `Exception`."""
        if not self.enabled:
            return
        try:
            self._observer.on_event(event)
        except Exception as error:  # noqa: BLE001 - an observer's failure stays the observer's
            self._note(error, event)

    def _note(self, error: Exception, event: Event) -> None:
        self.failures += 1
        if self.failures == 1:
            get_logger("observer", mask=self._mask).warning(
                "observer failed, further failures are only counted",
                observer=type(self._observer).__qualname__,
                failed_on=type(event).__name__,
                exc_info=error,
            )
