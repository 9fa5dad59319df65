"""Forms that choose: if, when, cond, if-let, and, or, do."""

from .._fault import refused
from .._reader._forms import Brackets, Call, Symbol
from ._compiler import Compiler, Tail
from ._scope import Frame, Node, Scope


def if_(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(if c a b?)``."""
    if len(form.items) not in {3, 4}:
        raise refused(f"{_name(form)} takes a test, a form and perhaps another", form.place)
    test = compiler.compile(form.items[1], scope)
    branches = [compiler.compile(item, scope, tail) for item in (*form.items[2:], None)]
    then, other = branches[0], branches[1]
    if _name(form) == "if-not":
        then, other = other, then

    def choose(frame: Frame) -> object:
        value = test(frame)
        return other(frame) if value is None or value is False else then(frame)

    return choose


def when(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(when c body…)``."""
    if len(form.items) < 2:  # noqa: PLR2004 - the name and the test
        raise refused(f"{_name(form)} needs a test", form.place)
    test = compiler.compile(form.items[1], scope)
    body = compiler.body(form.items[2:], scope, tail)
    wanted = _name(form) == "when"

    def choose(frame: Frame) -> object:
        value = test(frame)
        return body(frame) if (value is not None and value is not False) is wanted else None

    return choose


def cond(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(cond test value … :else value)``."""
    items = form.items[1:]
    if len(items) % 2:
        raise refused("cond needs a value for each test", form.place)
    pairs = [
        (compiler.compile(test, scope), compiler.compile(value, scope, tail))
        for test, value in zip(items[::2], items[1::2], strict=True)
    ]

    def choose(frame: Frame) -> object:
        for test, value in pairs:
            held = test(frame)
            if held is not None and held is not False:
                return value(frame)
        return None

    return choose


def if_let(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(if-let [x e] a b?)``."""
    match form.items[1:]:
        case (Brackets((Symbol() as name, value)), then, *rest) if len(rest) < 2:  # noqa: PLR2004 - a or b
            pass
        case _:
            raise refused("write (if-let [name value] a b), with one name and no pattern", form.place)
    given = compiler.compile(value, scope)
    other = compiler.body(tuple(rest), scope, tail)
    with scope.block():
        slot = scope.declare(name.name)
        chosen = compiler.compile(then, scope, tail)
    return _let(given, slot, chosen, other)


def when_let(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(when-let [x e] body…)``."""
    match form.items[1:]:
        case (Brackets((Symbol() as name, value)), *body):
            pass
        case _:
            raise refused("write (when-let [name value] body…), with one name and no pattern", form.place)
    given = compiler.compile(value, scope)
    with scope.block():
        slot = scope.declare(name.name)
        chosen = compiler.body(tuple(body), scope, tail)
    return _let(given, slot, chosen, lambda _: None)


def _let(given: Node, slot: int, then: Node, other: Node) -> Node:
    def choose(frame: Frame) -> object:
        value = given(frame)
        if value is None or value is False:
            return other(frame)
        frame[slot] = value
        return then(frame)

    return choose


def do(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(do form…)``."""
    return compiler.body(form.items[1:], scope, tail)


def and_(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(and form…)``."""
    return _until(compiler, form, scope, tail, truth=False)


def or_(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None) -> Node:
    """``(or form…)``."""
    return _until(compiler, form, scope, tail, truth=True)


def _until(compiler: Compiler, form: Call, scope: Scope, tail: Tail | None, *, truth: bool) -> Node:
    if len(form.items) == 1:
        return lambda _: None if truth else True
    first = [compiler.compile(item, scope) for item in form.items[1:-1]]
    last = compiler.compile(form.items[-1], scope, tail)

    def choose(frame: Frame) -> object:
        for node in first:
            value = node(frame)
            if (value is not None and value is not False) is truth:
                return value
        return last(frame)

    return choose


def _name(form: Call) -> str:
    return str(form.items[0].name)
