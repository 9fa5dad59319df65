"""Predicates for the edges of a graph."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

_MISSING: Any = object()


def key_exists(key: str) -> Callable[[Any], bool]:
    """Whether the state has a key."""

    def predicate(state: Any) -> bool:
        return _read(state, key) is not _MISSING

    return _named(predicate, f"has {key}")


def key_equals(key: str, value: object) -> Callable[[Any], bool]:
    """Whether the state has a key with this value; never true for NaN, which equals nothing."""

    def predicate(state: Any) -> bool:
        return bool(_read(state, key) == value)

    return _named(predicate, f"{key} is {value!r}")


def _named(predicate: Callable[[Any], bool], name: str) -> Callable[[Any], bool]:
    predicate.__name__ = name  # what diagrams show
    return predicate


def _read(state: Any, key: str) -> Any:
    if isinstance(state, BaseModel):
        return getattr(state, key, _MISSING)
    return state[key] if isinstance(state, Mapping) and key in state else _MISSING
