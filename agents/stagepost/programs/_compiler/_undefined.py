"""Finds all that is wrong with a program before it runs, where running it would stop at the first."""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .._fault import Fault
from .._limits import Limits
from .._machine import Machine
from .._reader._forms import Form
from ._compiler import Compiler, Handler, Tail
from ._scope import Frame, Node, Scope


class _Nowhere:
    """The host and the world of a program that never runs."""

    def pause(self) -> None:
        """Nobody waits."""

    def call(self, name: str, arguments: dict[str, Any]) -> Any:  # pragma: no cover - nothing runs
        """Nothing is called."""

    def parallel(self, acts: list[Any]) -> list[Any]:  # pragma: no cover - nothing runs
        """Nothing is run."""
        return acts

    def data(self, *_: object) -> None:
        """There are no inputs yet."""

    def result(self, *_: object) -> None:
        """There was no turn before."""

    def budget(self, *_: object) -> None:
        """There is no budget."""


class _Checking(Compiler):
    """A compiler that goes on after what is wrong, and notes it.

    Attributes:
        faults: What is wrong, in the order of the text.
    """

    def __init__(
        self, machine: Machine, memory: Collection[str], tools: Collection[str], special: Mapping[str, Handler]
    ) -> None:
        super().__init__(machine, memory, tools, special)
        self.faults: list[Fault] = []

    def compile(self, form: Form, scope: Scope, tail: Tail | None = None) -> Node:
        """The function that evaluates the form; one that does nothing, if something is wrong with it."""
        depth = self._depth
        try:
            return super().compile(form, scope, tail)
        except Fault as fault:
            self._depth = depth
            self.faults.append(fault)
            return _nothing


def faults_of(
    forms: Sequence[Form],
    memory: Collection[str],
    tools: Collection[str],
    special: Mapping[str, Handler],
    limits: Limits,
) -> Sequence[Fault]:
    """What is wrong with a program: undefined names, unknown tools, forms that are written wrongly.

    Args:
        forms: Of the program.
        memory: Names that it defines.
        tools: Names of the tools that it may call.
        special: What compiles each special form.
        limits: What compiling it may use.
    """
    nowhere = _Nowhere()
    compiler = _Checking(Machine(limits, nowhere, nowhere, time.perf_counter), memory, tools, special)
    scope = Scope()
    for form in forms:
        compiler.compile(form, scope)
    return compiler.faults


def _nothing(_: Frame) -> None:  # pragma: no cover - nothing runs
    """What stands for a form that is wrong."""
