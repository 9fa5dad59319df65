"""Keys of maps and members of sets that Python cannot hash, or that it takes for others.

Python cannot hash lists and dictionaries, and takes ``True`` for ``1``. Such values are wrapped; texts, keywords,
numbers and nil, which nearly all keys are, are not.
"""

from typing import Any, Final, final

from ._effort import Effort
from ._equality import equal

_PLAIN: Final = frozenset({str, int, float, type(None)})


@final
class Key:
    """A wrapped key, equal to those whose values are equal in the language."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._hash = _hash(value, Effort())

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is Key and self._hash == other._hash and equal(self.value, other.value)


def enc(value: Any) -> Any:
    """The value as a key."""
    if type(value) in _PLAIN or isinstance(value, str):
        return value
    return Key(value) if isinstance(value, (bool, list, dict)) or type(value) is frozenset else value


def dec(key: Any) -> Any:
    """The value of a key."""
    return key.value if type(key) is Key else key


def _hash(value: Any, effort: Effort) -> int:
    if isinstance(value, list):
        effort.spend(len(value))
        return hash(tuple([_hash(each, effort) for each in value]))
    if isinstance(value, dict):
        effort.spend(len(value))
        return hash(frozenset([(key, _hash(of, effort)) for key, of in value.items()]))
    return hash(("bool", value)) if isinstance(value, bool) else hash(value)
