"""Forms that name values: let, loop, recur, def, defonce."""

from typing import Any, Final

from .._builtins import BUILTINS, CONSTANTS
from .._fault import Fault, refused
from .._reader._forms import Brackets, Call, Symbol
from .._values._types import Var
from ._compiler import Compiler, Tail
from ._forms import SPECIAL
from ._patterns import binder
from ._scope import Binder, Frame, Node, Scope

RECUR: Final = object()
_NAMESPACES: Final = frozenset({"ctx", "data", "tool"})


def let(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(let [p v …] body…)``."""
    pairs = bindings(form)
    with scope.block():
        made = [(compiler.compile(value, scope), binder(compiler, pattern, scope)) for pattern, value in pairs]
        body = compiler.body(form.items[2:], scope, tail)

    def let(frame: Frame) -> Any:
        for value, bind in made:
            bind(frame, value(frame))
        return body(frame)

    return let


def loop(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(loop [p v …] body…)``."""
    pairs = bindings(form)
    machine = compiler.machine
    with scope.block():
        made = [(compiler.compile(value, scope), binder(compiler, pattern, scope)) for pattern, value in pairs]
        binders = [bind for _, bind in made]
        body = compiler.body(form.items[2:], scope, Tail(rebinding(binders), len(binders)))

    def loop(frame: Frame) -> Any:
        for value, bind in made:
            bind(frame, value(frame))
        while (result := body(frame)) is RECUR:
            machine.loop()
        return result

    return loop


def rebinding(binders: list[Binder]) -> Any:
    """What binds new values to all patterns at once."""

    def rebind(frame: Frame, values: list[Any]) -> None:
        for bind, value in zip(binders, values, strict=True):
            bind(frame, value)

    return rebind


def recur(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(recur v…)``."""
    if tail is None:
        raise refused("recur must be in tail position, the last of loop or fn", form.place)
    if len(form.items) - 1 != tail.values:
        raise refused(f"recur takes {tail.values} value(s) here, got {len(form.items) - 1}", form.place)
    nodes = [compiler.compile(item, scope) for item in form.items[1:]]
    rebind = tail.rebind

    def recur(frame: Frame) -> Any:
        rebind(frame, [node(frame) for node in nodes])
        return RECUR

    return recur


def def_(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(def name v)`` and ``(defonce name v)``."""
    word = form.items[0].name
    if len(form.items) not in {3, 4} or (len(form.items) == 4 and type(form.items[2]) is not str):  # noqa: PLR2004 - with doc
        raise refused(f'{word} takes a name and a value: ({word} name value) or ({word} name "doc" value)', form.place)
    name = definable(form.items[1], form.place)
    value = compiler.compile(form.items[-1], scope)
    machine, once = compiler.machine, word == "defonce"

    def define(frame: Frame) -> Any:
        memory = machine.branch.memory
        if not once or name not in memory:
            memory[name] = value(frame)
        return Var(name)

    return define


def definable(form: Any, place: int) -> str:
    """The name that is to be defined."""
    if not isinstance(form, Symbol):
        raise refused("def takes a name, and no pattern", place)
    if form.name in BUILTINS or form.name in SPECIAL or form.name in CONSTANTS:
        raise Fault("analysis_error", f"cannot shadow builtin '{form.name}'", "choose another name", place)
    if form.name in _NAMESPACES:
        why = f"names such as {form.name}/x belong to the language"
        raise Fault("analysis_error", f"{form.name} cannot be defined: {why}", "choose another name", place)
    if "/" in form.name or form.name.startswith(("*", "%", ".")):
        raise refused(f"{form.name} cannot be defined", place)
    return form.name


def bindings(form: Call) -> list[tuple[Any, Any]]:
    """The pairs of a ``[p v …]``."""
    word = form.items[0].name
    if len(form.items) < 2 or not isinstance(form.items[1], Brackets):  # noqa: PLR2004 - the name and the pairs
        raise refused(f"{word} needs its bindings in a vector: ({word} [name value] …)", form.place)
    items = form.items[1].items
    if len(items) % 2:
        raise refused(f"{word}: the bindings need a value for each name", form.place)
    return list(zip(items[::2], items[1::2], strict=True))
