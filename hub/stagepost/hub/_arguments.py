"""The arguments of a hub, checked before anything is entered."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, TypeVar

from ._middleware import Middleware
from ._observer import Observer
from ._wake import Clock
from .errors import InvalidArgument

ContextT = TypeVar("ContextT")


def check_observer(observer: object) -> Observer:
    """Return an observer.

    Raises:
        InvalidArgument: It is none.
    """
    checked: Observer = _with_methods("observer", observer, "on_event")
    return checked


def check_clock(clock: object) -> Clock:
    """Return a clock.

    Raises:
        InvalidArgument: It is none.
    """
    checked: Clock = _with_methods("clock", clock, "now", "wait_until")
    return checked


def check_middleware(middleware: Iterable[Middleware[ContextT]]) -> tuple[Middleware[ContextT], ...]:
    """Return the layers of middleware.

    Raises:
        InvalidArgument: They are no sequence, or one of them is no async function.
    """
    remedy = "use a list of async functions that take (context, proceed)"
    if not isinstance(middleware, Iterable):
        raise InvalidArgument("middleware", middleware, remedy)
    layers = tuple(middleware)
    for number, layer in enumerate(layers):
        if isinstance(layer, type) or not callable(layer):
            raise InvalidArgument(f"middleware[{number}]", layer, remedy)
    return layers


def check_number(what: str, number: object) -> int:
    """Return a whole number from 0 up.

    Raises:
        InvalidArgument: It is none.
    """
    if not isinstance(number, bool) and isinstance(number, Integral) and int(number) >= 0:
        return int(number)
    raise InvalidArgument(what, number, "use a whole number from 0 up")


def check_flag(what: str, flag: object) -> bool:
    """Return a truth value.

    Raises:
        InvalidArgument: It is none.
    """
    if isinstance(flag, bool):
        return flag
    raise InvalidArgument(what, flag, "use True or False")


def _with_methods(what: str, value: object, *names: str) -> Any:
    """A value that has methods; a class that has them is taken for a mistake."""
    if isinstance(value, type) or not all(callable(getattr(value, name, None)) for name in names):
        raise InvalidArgument(what, value, f"use an object with {' and '.join(names)}")
    return value
