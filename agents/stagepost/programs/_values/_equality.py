"""When two values are equal: numbers by amount, collections by content, a boolean is no number, a keyword no text."""

from typing import Any


def equal(left: Any, right: Any) -> bool:
    """Whether the language takes them for equal."""
    kind, other = type(left), type(right)
    if kind is bool or other is bool:
        return left is right
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return isinstance(right, dict) and left.keys() == right.keys() and _same(left, right)
    return bool(left == right)


def _same(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    return all(equal(value, right[key]) for key, value in left.items())
