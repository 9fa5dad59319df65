"""for and doseq."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from .._builtins._sequence import sequence
from .._fault import refused
from .._keyword import Keyword
from .._machine import Machine
from .._reader._forms import Brackets, Call
from ._binding import bindings
from ._compiler import Compiler, Tail
from ._patterns import binder
from ._scope import Binder, Frame, Node, Scope

_Level: TypeAlias = Callable[[Frame, list[Any]], None]
_Modifier: TypeAlias = tuple[str, Any]
_KNOWN: Final = (":when", ":let", ":while")


def for_(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(for [p coll …] body)`` and ``(doseq [p coll …] body…)``."""
    pairs = bindings(form)
    if not pairs or isinstance(pairs[0][0], Keyword):
        raise refused("for and doseq begin with a name and a collection", form.place)
    machine, keeps = compiler.machine, form.items[0].name == "for"
    with scope.block():
        levels = _levels(compiler, pairs, scope, form)
        body = compiler.body(form.items[2:], scope)
    level: _Level = _innermost(machine, body, keeps=keeps)
    for collection, bind, modifiers in reversed(levels):
        level = _level(machine, collection, bind, modifiers, level)
    outermost = level

    def run(frame: Frame) -> Any:
        made: list[Any] = []
        outermost(frame, made)
        machine.credit(8 * len(made))
        return machine.vector(made, fresh=8) if keeps else None

    return run


def _levels(
    compiler: Compiler, pairs: list[tuple[Any, Any]], scope: Scope, form: Call
) -> list[tuple[Node, Binder, list[_Modifier]]]:
    levels: list[tuple[Node, Binder, list[_Modifier]]] = []
    for pattern, value in pairs:
        if not isinstance(pattern, Keyword):
            levels.append((compiler.compile(value, scope), binder(compiler, pattern, scope), []))
        elif str(pattern) not in _KNOWN:
            raise refused(f"unknown modifier {pattern} in for/doseq. Known: {', '.join(_KNOWN)}", form.place)
        elif pattern.twin == "let":
            inner = bindings(Call((form.items[0], value), form.place)) if isinstance(value, Brackets) else None
            if inner is None:
                raise refused(":let takes bindings in a vector: :let [name value]", form.place)
            made = [(compiler.compile(each, scope), binder(compiler, name, scope)) for name, each in inner]
            levels[-1][2].append(("let", made))
        else:
            levels[-1][2].append((pattern.twin, compiler.compile(value, scope)))
    return levels


def _innermost(machine: Machine, body: Node, *, keeps: bool) -> _Level:
    def collect(frame: Frame, made: list[Any]) -> None:
        value = body(frame)
        if keeps:
            machine.charge(8)
            made.append(value)

    return collect


def _level(machine: Machine, collection: Node, bind: Binder, modifiers: list[_Modifier], inner: _Level) -> _Level:
    def level(frame: Frame, made: list[Any]) -> None:
        for item in sequence(machine, collection(frame), "for"):
            machine.tick()
            bind(frame, item)
            refusing = _refusing(frame, modifiers)
            if refusing == "while":
                break
            if refusing is None:
                inner(frame, made)

    return level


def _refusing(frame: Frame, modifiers: list[_Modifier]) -> str | None:
    for kind, made in modifiers:
        if kind == "let":
            for value, bind in made:
                bind(frame, value(frame))
            continue
        held = made(frame)
        if held is None or held is False:
            return kind
    return None
