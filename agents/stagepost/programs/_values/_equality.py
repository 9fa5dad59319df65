"""When two values are equal: numbers by amount, collections by content, a boolean is no number, a keyword no text."""

from typing import Any

from ._effort import Effort


def equal(left: Any, right: Any) -> bool:
    """Whether the language takes them for equal."""
    return _equal(left, right, None)


def _equal(left: Any, right: Any, effort: Effort | None) -> bool:
    kind, other = type(left), type(right)
    if kind is bool or other is bool:
        return left is right
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and _lists(left, right, effort or Effort())
    if isinstance(left, dict):
        return isinstance(right, dict) and left.keys() == right.keys() and _maps(left, right, effort or Effort())
    return bool(left == right)


def _lists(left: list[Any], right: list[Any], effort: Effort) -> bool:
    effort.spend(len(left))
    return all(_equal(one, other, effort) for one, other in zip(left, right, strict=True))


def _maps(left: dict[Any, Any], right: dict[Any, Any], effort: Effort) -> bool:
    effort.spend(len(left))
    return all(_equal(value, right[key], effort) for key, value in left.items())
