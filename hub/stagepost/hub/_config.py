"""Hubs from configuration: validated values, and names for what code alone can make."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from pydantic import Field

from ._file_config import FileConfig
from ._names import check_name
from ._observer import NullObserver, Observer
from ._observers import LogObserver, MultiObserver
from .errors import InvalidConfig

_BUILT_IN: Final[Mapping[str, Callable[[], Observer]]] = MappingProxyType({"null": NullObserver, "log": LogObserver})


class Registry:
    """Observers by name, for configuration: ``null``, ``log``, and yours. It does not change.

    Args:
        observers: What makes an observer, by its name; a class will do.
    """

    __slots__ = ("_observers",)

    def __init__(self, observers: Mapping[str, Callable[[], Observer]] | None = None) -> None:
        self._observers = {**_BUILT_IN, **(observers or {})}
        for name in self._observers:
            check_name("observer name", name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names it knows."""
        return tuple(self._observers)

    def observer(self, *names: str) -> Observer:
        """Make the observer that names stand for: one that tells all of them if they are several.

        Raises:
            InvalidConfig: A name stands for nothing.
        """
        for name in names:
            if name not in self._observers:
                raise InvalidConfig("of observers", f"no observer is called {name!r}, only {', '.join(self.names)}")
        made = [self._observers[name]() for name in names if name != "null" or len(names) == 1]
        if not made:
            return NullObserver()
        return made[0] if len(made) == 1 else MultiObserver(*made)


class HubConfig(FileConfig):
    """What a hub is made from when it does not stand in code; `Hub.from_config` makes it.

    Attributes:
        name: The hub's name.
        observers: Names of observers, as a `Registry` knows them.
        grace: Seconds that leaving may take to finish what is queued; None for as long as it needs.
        dead_letters: How many dead letters are kept, 0 for none.
        check_payloads: Find out who changes payloads; for tests.
    """

    name: str = Field(default="hub", pattern="^[A-Za-z0-9_-]{1,100}$")
    observers: tuple[str, ...] = ()
    grace: float | None = Field(default=10.0, ge=0, allow_inf_nan=False)
    dead_letters: int = Field(default=100, ge=0)
    check_payloads: bool = False
