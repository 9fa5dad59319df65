"""Hubs from configuration: validated values, and names for objects that only code can make."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from pydantic import Field

from ._file_config import FileConfig
from ._limits import MAILBOX, TIMEOUT
from ._names import check_name
from ._observer import NullObserver, Observer
from ._observers import LogObserver, MultiObserver
from .errors import InvalidConfig

_BUILT_IN: Final[Mapping[str, Callable[[], Observer]]] = MappingProxyType({"null": NullObserver, "log": LogObserver})


class Registry:
    """Observers by name, for configuration: ``null``, ``log``, and yours. Immutable.

    Args:
        observers: Factories of observers by name; a class is a factory.
    """

    __slots__ = ("_observers",)

    def __init__(self, observers: Mapping[str, Callable[[], Observer]] | None = None) -> None:
        self._observers = {**_BUILT_IN, **(observers or {})}
        for name in self._observers:
            check_name("observer name", name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the registry."""
        return tuple(self._observers)

    def observer(self, *names: str) -> Observer:
        """Make the observer that names stand for: a `MultiObserver` if there are several.

        Raises:
            InvalidConfig: A name is unknown.
        """
        for name in names:
            if name not in self._observers:
                raise InvalidConfig("of observers", f"no observer is called {name!r}, only {', '.join(self.names)}")
        made = [self._observers[name]() for name in names if name != "null" or len(names) == 1]
        if not made:
            return NullObserver()
        return made[0] if len(made) == 1 else MultiObserver(*made)


class HubConfig(FileConfig):
    """The configuration of a hub; `Hub.from_config` makes it.

    Attributes:
        name: The hub's name.
        observers: Names of observers in a `Registry`.
        grace: Seconds to finish queued messages when the hub is left; None for no limit.
        mailbox: How many messages may wait for an agent that is registered without a `mailbox`; None for any number.
        timeout: Seconds that senders and requesters wait who give no timeout; None for no limit.
        dead_letters: How many dead letters are kept, 0 for none.
        resting: How many agents keep an idle task; None for all.
        check_payloads: Detect changed payloads; for tests.
    """

    name: str = Field(default="hub", pattern="^[A-Za-z0-9_-]{1,100}$")
    observers: tuple[str, ...] = ()
    grace: float | None = Field(default=10.0, ge=0, allow_inf_nan=False)
    mailbox: int | None = Field(default=MAILBOX, ge=1)
    timeout: float | None = Field(default=TIMEOUT, ge=0, allow_inf_nan=False)
    dead_letters: int = Field(default=100, ge=0)
    resting: int | None = Field(default=1000, ge=1)
    check_payloads: bool = False
