"""Keys of maps and members of sets that Python cannot hash, or that it takes for others.

Python cannot hash lists and dictionaries, and takes ``True`` for ``1``. Such values are wrapped; texts, keywords, numbers
and nil, which nearly all keys are, are not.
"""

from typing import Any, Final, final

from ._equality import equal

_PLAIN: Final = frozenset({str, int, float, type(None)})


@final
class Key:
    """A wrapped key, equal to those whose values are equal in the language."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._hash = _hash(value)

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


def _hash(value: Any) -> int:
    if isinstance(value, list):
        return hash(tuple(map(_hash, value)))
    if isinstance(value, dict):
        return hash(frozenset((key, _hash(of)) for key, of in value.items()))
    if isinstance(value, bool):
        return hash(("bool", value))
    return hash(value)
