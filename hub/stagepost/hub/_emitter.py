"""The safe way to an observer."""

from ._contained import ContainedLog, attempt
from ._containment import class_name
from ._log import get_logger
from ._observer import Event, Level, NullObserver, Observer, Selective


class Emitter:
    """Hands events to an observer and contains whatever it raises.

    Guard the building of an event in a hot path with ``if emitter.enabled:``.

    Attributes:
        enabled: Whether anybody listens.
        failures: How many events the observer failed on. The first failure is logged, the others only counted.
    """

    __slots__ = ("_asks", "_observer", "enabled", "failures")

    def __init__(self, observer: Observer | None = None) -> None:
        self._observer = NullObserver() if observer is None else observer
        self.enabled = not isinstance(self._observer, NullObserver)
        self._asks = self._observer.wants if self.enabled and isinstance(self._observer, Selective) else None
        self.failures = 0

    def wants(self, level: Level) -> bool:
        """Whether anybody listens to events of a level. An observer that fails to say gets them."""
        asks = self._asks
        if asks is None:
            return self.enabled
        wanted, failure = attempt(lambda: bool(asks(level)))
        if failure is not None:
            self._note(failure, "wants")
        return wanted is not False

    def emit(self, event: Event) -> None:
        """Tell the observer. Raises nothing but `KeyboardInterrupt`."""
        if not self.enabled:
            return
        _, failure = attempt(self._observer.on_event, event)
        if failure is not None:
            self._note(failure, type(event).__name__)

    def _note(self, failure: BaseException, failed_on: str) -> None:
        self.failures += 1
        if self.failures == 1:
            ContainedLog(get_logger("observer")).warning(
                "observer failed, further failures are only counted",
                observer=class_name(type(self._observer)),
                failed_on=failed_on,
                exc_info=failure,
            )
