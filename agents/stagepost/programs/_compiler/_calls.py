"""Calls of functions of the language; an error gets the place of the innermost call that it leaves."""

from typing import Any

from .._fault import Fault
from .._machine import Machine
from .._values._types import Builtin
from ._scope import Frame, Node


def called(builtin: Builtin, machine: Machine, nodes: list[Node], place: int) -> Node:
    """The function that calls it with what the nodes give."""
    makers = {1: _one, 2: _two}
    return makers.get(len(nodes), _many)(builtin, machine, nodes, place)


def _one(builtin: Builtin, machine: Machine, nodes: list[Node], place: int) -> Node:
    act, (only,) = builtin.act, nodes

    def call(frame: Frame) -> Any:
        try:
            return act(machine, only(frame))
        except Fault as fault:
            raise fault.at(place) from None

    return call


def _two(builtin: Builtin, machine: Machine, nodes: list[Node], place: int) -> Node:
    act, (first, second) = builtin.act, nodes

    def call(frame: Frame) -> Any:
        try:
            return act(machine, first(frame), second(frame))
        except Fault as fault:
            raise fault.at(place) from None

    return call


def _many(builtin: Builtin, machine: Machine, nodes: list[Node], place: int) -> Node:
    act = builtin.act

    def call(frame: Frame) -> Any:
        try:
            return act(machine, *[node(frame) for node in nodes])
        except Fault as fault:
            raise fault.at(place) from None

    return call
