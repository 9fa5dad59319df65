"""Whether a reply is what its requester expected."""

from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict


def fits(reply: object, expected: object) -> bool:
    """Whether a reply is an instance of a class, or of the class behind ``list[str]``, or of a member of a union.

    As for type checkers, an int fits where a float is expected. What is inside of a container is not looked at.
    """
    origin = get_origin(expected)
    if origin in (Union, UnionType):
        return any(fits(reply, member) for member in get_args(expected))
    if origin is Literal:
        return reply in get_args(expected)
    if expected is Any:
        return True
    return isinstance(reply, _classes(origin or expected))


def _classes(expected: Any) -> type | tuple[type, ...]:
    if expected is float:
        return (float, int)
    if is_typeddict(expected):
        return dict
    return NoneType if expected is None else expected
