"""Arithmetic and comparisons of two numbers, which programs spend their time with, without a call of the general form.

Each does what the general form does, which it calls for all that is not two small integers or two floats.
"""

from collections.abc import Callable
from typing import Any, Final

from .._fault import Fault
from .._machine import Machine
from .._values._types import Builtin
from ._scope import Frame, Node

_LARGE: Final = 2**62
_NUMBERS: Final = frozenset({int, float})


def fast(builtin: Builtin, machine: Machine, nodes: list[Node], place: int) -> Node | None:
    """A faster function for the call, if there is one."""
    maker = _MAKERS.get(builtin.name)
    if maker is None or len(nodes) != 2:  # noqa: PLR2004 - these are of two
        return None
    act = builtin.act

    def slow(one: Any, other: Any) -> Any:
        try:
            return act(machine, one, other)
        except Fault as fault:
            raise fault.at(place) from None

    return maker(slow, *nodes)


def _add(slow: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def add(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if type(one) is int and type(other) is int and -_LARGE < one < _LARGE and -_LARGE < other < _LARGE:
            return one + other
        return slow(one, other)

    return add


def _subtract(slow: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def subtract(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if type(one) is int and type(other) is int and -_LARGE < one < _LARGE and -_LARGE < other < _LARGE:
            return one - other
        return slow(one, other)

    return subtract


def _multiply(slow: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def multiply(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        if type(one) is float and type(other) is float:
            return one * other
        return slow(one, other)

    return multiply


def _less(slow: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def less(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        return one < other if type(one) in _NUMBERS and type(other) in _NUMBERS else slow(one, other)

    return less


def _greater(slow: Callable[[Any, Any], Any], left: Node, right: Node) -> Node:
    def greater(frame: Frame) -> Any:
        one, other = left(frame), right(frame)
        return one > other if type(one) in _NUMBERS and type(other) in _NUMBERS else slow(one, other)

    return greater


_MAKERS: Final = {"+": _add, "-": _subtract, "*": _multiply, "<": _less, ">": _greater}
