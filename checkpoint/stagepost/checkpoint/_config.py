"""Stores from configuration: validated values, and names for what code alone can make."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal

from pydantic import Field

from stagepost.hub import FileConfig, InvalidConfig, check_name

from ._limits import DEFAULT
from ._memory import MemoryStore
from ._sqlite._store import SqliteStore
from ._store import CheckpointStore


class StoreConfig(FileConfig):
    """What a store is made from when it does not stand in code; a `StoreRegistry` makes it.

    Attributes:
        kind: Name of a kind of store, as a `StoreRegistry` knows it: ``sqlite``, ``memory``, or one of yours.
        path: The file of ``sqlite``.
        durability: What a commit survives there: ``power`` or ``process``.
        lock_timeout: Seconds to wait there for another process to let go of the file.
        max_value: The most bytes of JSON that a value may have; None for no limit.
        warn_value: Of values with more bytes than this observers are told; None for never.
        max_blob: The most bytes that are kept beside the JSON under one digest; None for no limit.
        options: For kinds of yours: what else they need.
    """

    kind: str = Field(default="sqlite", pattern="^[A-Za-z0-9_-]{1,100}$")
    path: str | None = None
    durability: Literal["power", "process"] = "power"
    lock_timeout: float = Field(default=10.0, ge=0, allow_inf_nan=False)
    max_value: int | None = Field(default=DEFAULT.refuse, ge=1)
    warn_value: int | None = Field(default=DEFAULT.warn, ge=1)
    max_blob: int | None = Field(default=DEFAULT.blob, ge=1)
    options: Mapping[str, str | int | float | bool | None] = Field(default_factory=dict)


Maker = Callable[[StoreConfig], CheckpointStore]


class StoreRegistry:
    """Kinds of stores by name, for configuration: ``sqlite``, ``memory``, and yours. It does not change.

    Args:
        stores: What makes a store of a configuration, by the name of its kind.
    """

    __slots__ = ("_makers",)

    def __init__(self, stores: Mapping[str, Maker] | None = None) -> None:
        self._makers = {**_BUILT_IN, **(stores or {})}
        for name in self._makers:
            check_name("store name", name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names it knows."""
        return tuple(self._makers)

    def store(self, config: StoreConfig) -> CheckpointStore:
        """Make the store, which is still to be entered.

        Raises:
            InvalidConfig: Its kind stands for nothing, or lacks something.
        """
        if config.kind not in self._makers:
            problem = f"no kind of store is called {config.kind!r}, only {', '.join(self.names)}"
            raise InvalidConfig("of a store", problem)
        return self._makers[config.kind](config)


def _sqlite(config: StoreConfig) -> CheckpointStore:
    if config.path is None:
        raise InvalidConfig("of a store", "kind 'sqlite' needs the path of its file")
    return SqliteStore(
        config.path,
        durability=config.durability,
        lock_timeout=config.lock_timeout,
        max_value=config.max_value,
        warn_value=config.warn_value,
        max_blob=config.max_blob,
    )


def _memory(config: StoreConfig) -> CheckpointStore:
    return MemoryStore(max_value=config.max_value, warn_value=config.warn_value, max_blob=config.max_blob)


_BUILT_IN: Final[Mapping[str, Maker]] = MappingProxyType({"sqlite": _sqlite, "memory": _memory})
