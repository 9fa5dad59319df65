"""Calls an observer safely."""

from collections.abc import Sequence
from weakref import WeakSet

from ._contained import attempt
from ._containment import class_name
from ._layers import is_coroutine_function
from ._log import get_logger
from ._masks import Mask, masked
from ._observer import Event, Level, NullObserver, Observer, Selective
from .errors import InvalidArgument


class Emitter:
    """Hands events to an observer and contains whatever it raises.

    Guard the building of an event in a hot path with ``if emitter.enabled:``.

    Args:
        observer: The observer; None for none.
        mask: Masks secrets in the log of a failure.

    Attributes:
        enabled: Whether there is an observer.

    Raises:
        InvalidArgument: It is not an observer.
    """

    __slots__ = ("__weakref__", "_asks", "_failures", "_mask", "_observer", "_outer", "enabled")

    def __init__(self, observer: Observer | None = None, *, mask: Mask | None = None) -> None:
        self._observer = NullObserver() if observer is None else _checked(observer)
        self.enabled = not isinstance(self._observer, NullObserver)
        self._asks = self._observer.wants if self.enabled and isinstance(self._observer, Selective) else None
        self._failures = 0
        self._mask = mask
        self._outer: WeakSet[Emitter] = WeakSet()
        for inner in self._inner():
            inner._outer.add(self)  # noqa: SLF001 - one of its kind

    @property
    def is_selective(self) -> bool:
        """Whether the observer selects levels with `wants`."""
        return self._asks is not None

    @property
    def failures(self) -> int:
        """How many times the observer, or one that it forwards events to, failed on an event.

        The first failure of each is logged, the others are only counted.
        """
        return self._failures + sum(inner.failures for inner in self._inner())

    def wants(self, level: Level) -> bool:
        """Whether the observer wants events of a level. If asking it fails, it gets them."""
        asks = self._asks
        if asks is None:
            return self.enabled
        wanted, failure = attempt(lambda: bool(asks(level)))
        if failure is not None:
            self._note(failure, "wants")
        return wanted is not False

    def emit(self, event: Event) -> None:
        """Call the observer. Raises nothing but `KeyboardInterrupt`."""
        if not self.enabled:
            return
        _, failure = attempt(self._observer.on_event, event)
        if failure is not None:
            self._note(failure, type(event).__name__)

    def _inner(self) -> "Sequence[Emitter]":
        return self._observer.emitters if isinstance(self._observer, Relaying) else ()

    def _note(self, failure: BaseException, failed_on: str) -> None:
        self._failures += 1
        if self._failures == 1:
            get_logger("observer", mask=self._hide).warning(
                "observer failed, further failures are only counted",
                observer=class_name(type(self._observer)),
                failed_on=failed_on,
                exc_info=failure,
            )

    def _hide(self, text: str) -> str:
        """The text without the secrets of everybody who uses the observer."""
        text = masked(text, self._mask)
        for outer in tuple(self._outer):
            text = outer._hide(text)  # noqa: SLF001 - one of its kind
        return text


class Relaying:
    """Base of observers that forward events to others: failures of those others count as theirs.

    Attributes:
        emitters: The emitters to the others.
    """

    __slots__ = ()

    emitters: Sequence[Emitter]


def _checked(observer: Observer) -> Observer:
    on_event: object = getattr(observer, "on_event", None)
    if isinstance(observer, type):
        raise InvalidArgument("observer", observer, "use an instance of the class")
    if not callable(on_event):
        raise InvalidArgument("observer", observer, "use an object with a method `on_event(event)`")
    if is_coroutine_function(on_event):
        raise InvalidArgument(
            "observer", observer, "its `on_event` is async, which nobody awaits: let it be a plain method"
        )
    return observer
