"""Losses that a JSON round trip of a typed value does not show.

Secrets turned to asterisks, NaN turned to null, fields that the declared type does not know.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, cast

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

_SECRETS = (SecretStr, SecretBytes, Secret)
_LEAVES = frozenset({str, int, float, bool, type(None)})  # most of a value, and made of nothing
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*"')  # string literals of JSON


def pitfall(value: object, data: bytes) -> str | None:
    """Why `data` is not all of `value`, or None.

    The value is searched only if its JSON shows a trace: asterisks of a secret, a null that may have been a NaN.
    """
    if b"**********" in data and any(isinstance(part, _SECRETS) for part in _parts(value)):
        return "it holds a secret: give secrets to the runner (secrets=), never to a state"
    if b"null" in data and _lost_numbers(value, data):
        return 'it holds NaN or infinity: give its model `ser_json_inf_nan="constants"`, or use None'
    return None


def _lost_numbers(value: object, data: bytes) -> bool:
    """Whether nulls stand for numbers: more of them than None in the value, and numbers missing."""
    if not _has_endless(value):  # so it is of nearly all values, and most states have a field that is None
        return False
    bare = _TEXTS.sub(b"", data)
    parts = list(_parts(value))
    found = sum(isinstance(part, float) and not math.isfinite(part) for part in parts)
    kept = bare.count(b"NaN") + bare.count(b"Infinity")
    return found > kept and bare.count(b"null") > sum(part is None for part in parts)


def _has_endless(value: object) -> bool:
    """Whether NaN or infinity is among the parts of a value."""
    ahead: list[Any] = [value]
    for part in ahead:  # which grows meanwhile
        kind = type(part)
        if kind not in _LEAVES:
            ahead.extend(_opener(kind)(part))
        if isinstance(part, float) and not math.isfinite(part):
            return True
    return False


def only_reordered(value: object, data: bytes, again: bytes) -> bool:
    """Whether two dumps differ in the order of a set, which depends on how the set came about."""
    return sorted(data) == sorted(again) and any(isinstance(part, (set, frozenset)) for part in _parts(value))


def outline(value: object) -> list[object]:
    """The classes of all models and the widths of all mappings in a value: what a loss of fields would change."""
    return [
        len(part) if isinstance(part, Mapping) else type(part)
        for part in _parts(value)
        if isinstance(part, (BaseModel, Mapping)) or is_dataclass(part)
    ]


def _parts(value: object) -> Iterator[object]:
    """The value and all that it is made of, depth first."""
    ahead: list[Any] = [value]
    while ahead:
        part = ahead.pop()
        yield part
        kind = type(part)
        if kind not in _LEAVES:
            ahead.extend(reversed([*_opener(kind)(part)]))


def _opener(kind: type) -> Callable[[Any], Iterable[object]]:
    """What gives the parts of values of a class; nearly each step of a typed state looks at some of them."""
    return _known_opener(cast("Hashable", kind))


@lru_cache(maxsize=1024)
def _known_opener(given: Hashable) -> Callable[[Any], Iterable[object]]:
    kind = cast("type[Any]", given)
    if issubclass(kind, BaseModel):
        return _of_model
    if issubclass(kind, Mapping):
        return kind.values
    if issubclass(kind, (list, tuple, set, frozenset, deque)):
        return iter
    return _of_dataclass if is_dataclass(kind) else _of_nothing


def _of_model(value: BaseModel) -> Iterable[object]:
    extra = value.__pydantic_extra__
    return [*value.__dict__.values(), *extra.values()] if extra else value.__dict__.values()


def _of_dataclass(value: Any) -> Iterable[object]:
    return [getattr(value, field.name) for field in fields(value)]


def _of_nothing(_: object) -> Iterable[object]:
    return ()
