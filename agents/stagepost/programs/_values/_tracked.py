"""Large collections, which tell the machine when they are dropped, so that it counts what is there at one time."""

from collections.abc import Iterable
from typing import Any, Protocol, final


class Meter(Protocol):
    """Counts memory."""

    def credit(self, size: int) -> None:
        """So many bytes are free again."""


@final
class Vector(list[Any]):
    """A large vector."""

    __slots__ = ("_meter", "_size")

    def __init__(self, items: Iterable[Any], meter: Meter, size: int) -> None:
        super().__init__(items)
        self._meter = meter
        self._size = size

    def __del__(self) -> None:
        self._meter.credit(self._size)


@final
class Mapped(dict[Any, Any]):
    """A large map."""

    __slots__ = ("_meter", "_size")

    def __init__(self, entries: dict[Any, Any], meter: Meter, size: int) -> None:
        super().__init__(entries)
        self._meter = meter
        self._size = size

    def __del__(self) -> None:
        self._meter.credit(self._size)
