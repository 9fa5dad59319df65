"""How payloads are told apart by keys."""

from collections.abc import Callable, Hashable
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import Any, Final, cast

from stagepost._dataclasses import dataclass

from ._contained import attempt
from ._layers import name_of
from .errors import InvalidArgument, KeyFailed

INSTANCES: Final = 1000
IDLE: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Keying:
    """How an agent tells payloads apart.

    Attributes:
        function: Gives the key of a payload.
        name: The function's name.
        limit: How many instances there may be at once; infinity for any number.
        idle: After how many seconds without work an instance ends; infinity for never.
    """

    function: Callable[[Any], Hashable]
    name: str
    limit: float
    idle: float

    def key_of(self, agent: str, payload: object) -> Hashable:
        """The key of a payload.

        Raises:
            KeyFailed: The function has raised, or returned what cannot be a key.
        """
        key, failure = attempt(self._key, payload)
        if failure is not None:
            raise KeyFailed(agent, type(payload), self.name, failure)
        return key

    def _key(self, payload: object) -> Hashable:
        key = self.function(payload)
        if isawaitable(key):
            if iscoroutine(key):
                key.close()
            raise TypeError("it returned an awaitable: it must not be async")
        hash(key)
        return key


def keying(per: object, limit: float, idle: float) -> Keying:
    """How an agent tells payloads apart by a function.

    Raises:
        InvalidArgument: It is no function, or an async one.
    """
    if not callable(per) or isinstance(per, type) or iscoroutinefunction(per):
        raise InvalidArgument("per", per, "use a function, not async, that takes the payload and returns its key")
    return Keying(function=cast("Callable[[Any], Hashable]", per), name=name_of(per), limit=limit, idle=idle)
