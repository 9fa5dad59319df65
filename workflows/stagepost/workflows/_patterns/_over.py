"""Where the items of a fan-out or a fold come from."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

from .._values._unawaited import refuse_unawaited

Over: TypeAlias = str | Callable[[Any], Sequence[Any]]
"""A key of the state, or a function of the state."""


def take(over: Over, state: Any) -> Sequence[Any]:
    """The items of a state.

    Raises:
        TypeError: They are no list of items.
        Exception: There is no such key, or the function raised.
    """
    found = over(state) if callable(over) else _read(state, over)
    if isinstance(found, str | bytes | Mapping) or not isinstance(found, Sequence):
        refuse_unawaited(found, "over=")
        raise TypeError(f"over= must give a list of items, not {type(found).__name__}")
    return found


def _read(state: Any, key: str) -> Any:
    return getattr(state, key) if isinstance(state, BaseModel) else state[key]
