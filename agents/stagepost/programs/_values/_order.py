"""The order in which keys of maps and members of sets are printed and visited, whatever their types."""

from collections.abc import Iterable
from functools import cmp_to_key
from typing import Any, Final

from .._keyword import Keyword
from ._effort import Effort
from ._key import dec
from ._types import Builtin, Function, Pattern, Var

_RANKS: Final[dict[type, int]] = {type(None): 0, bool: 1, int: 2, float: 2, str: 3, Keyword: 4, list: 5, dict: 6}
_LAST: Final = 8


def ordered(keys: Iterable[Any]) -> list[Any]:
    """The keys in order: nil, booleans, numbers, texts, keywords, vectors, maps, sets, the rest."""
    listed = list(keys)
    kinds = set(map(type, listed))
    if kinds <= {str} or kinds <= {Keyword} or kinds <= {int}:
        listed.sort()
        return listed
    effort = Effort()
    listed.sort(key=cmp_to_key(lambda left, right: _compare(dec(left), dec(right), effort)))
    return listed


def _compare(left: Any, right: Any, effort: Effort) -> int:
    rank, other = _rank(left), _rank(right)
    if rank != other:
        return -1 if rank < other else 1
    if isinstance(left, list):
        return _compare_lists(left, right, effort)
    if isinstance(left, dict):
        return _compare_lists(_entries(left), _entries(right), effort)
    if isinstance(left, frozenset):
        return _compare_lists(list(map(dec, ordered(left))), list(map(dec, ordered(right))), effort)
    if rank == _LAST:
        left, right = _text(left), _text(right)
    return 0 if left == right else -1 if left < right else 1


def _rank(value: Any) -> int:
    if isinstance(value, list):
        return 5
    if isinstance(value, dict):
        return 6
    if isinstance(value, frozenset):
        return 7
    return _RANKS.get(type(value), _LAST)


def _compare_lists(left: list[Any], right: list[Any], effort: Effort) -> int:
    effort.spend(min(len(left), len(right)))
    for one, other in zip(left, right, strict=False):
        result = _compare(one, other, effort)
        if result:
            return result
    return (len(left) > len(right)) - (len(left) < len(right))


def _entries(of: dict[Any, Any]) -> list[Any]:
    return [part for key in ordered(of) for part in (dec(key), of[key])]


def _text(value: Any) -> str:
    match value:
        case Function():
            return value.shown
        case Builtin() | Var():
            return value.name
        case Pattern():
            return value.text
        case _:
            return f"{type(value).__name__} {value.isoformat()}"
