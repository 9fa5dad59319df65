"""Forms that make functions: fn, defn, #()."""

from collections.abc import Callable
from typing import Any, Final

from stagepost._dataclasses import dataclass

from .._fault import Fault, refused
from .._machine import Machine
from .._reader._forms import Braces, Brackets, Call, SetOf, Symbol, symbols
from .._values._boundary import inward
from .._values._types import Function, Var
from ._binding import RECUR, definable, rebinding
from ._compiler import Compiler, Tail
from ._patterns import binder
from ._scope import Binder, Frame, Node, Scope

_MOST: Final = 20
_SIZE: Final = 200
_OWN: Final = 1  # the frame of the interpreter that a call takes beside its body


def fn(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(fn [params] body…)``."""
    items = form.items[2:] if len(form.items) > 2 and isinstance(form.items[1], Symbol) else form.items[1:]  # noqa: PLR2004
    if not items or not isinstance(items[0], Brackets):
        raise refused("fn needs its parameters in a vector: (fn [x] …)", form.place)
    return _function(compiler, items[0], items[1:], scope, form)


def defn(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(defn name [params] body…)``, also with a text that says what it does."""
    if len(form.items) < 3:  # noqa: PLR2004 - defn, its name, its parameters
        raise refused("defn takes a name, parameters and a body: (defn name [x] …)", form.place)
    name = definable(form.items[1], form.place)
    rest = form.items[3:] if type(form.items[2]) is str else form.items[2:]
    if not rest or not isinstance(rest[0], Brackets):
        raise refused("defn needs its parameters in a vector, once: (defn name [x] …)", form.place)
    made = _function(compiler, rest[0], rest[1:], scope, form)
    machine = compiler.machine

    def define(frame: Frame) -> Any:
        machine.branch.memory[name] = made(frame)
        return Var(name)

    return define


def short(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``#(f % %2)``; the form has what stands inside."""
    if not form.items:
        raise refused("#() is empty", form.place, "write #(f %)")
    count = max((_placeholder(symbol) for symbol in symbols(form)), default=0)
    body = _renamed(form)
    params = Brackets(tuple(Symbol(f"p{number}%", form.place) for number in range(1, count + 1)), form.place)
    return _function(compiler, params, (body,), scope, Call((Symbol("fn", form.place), params, body), form.place))


@dataclass(frozen=True, slots=True)
class _Shape:
    """What all functions that one form makes have in common."""

    low: int
    high: int | None
    shown: str
    size: int
    body: Node
    binders: tuple[tuple[int, Binder], ...]
    rest: int | None
    captured: tuple[tuple[str, int, int], ...]
    frames: int
    recurs: bool
    form: Call


def _function(compiler: Compiler, params: Brackets, body: tuple[Any, ...], scope: Scope, form: Call) -> Node:
    names = list(params.items)
    variadic = len(names) > 1 and isinstance(names[-2], Symbol) and names[-2].name == "&"
    if variadic:
        del names[-2]
    if any(isinstance(name, Symbol) and name.name == "&" for name in names):
        raise refused("& is followed by one pattern, the last", params.place)
    seen = [False]

    def compiled(own: Scope) -> tuple[Node, tuple[tuple[int, Binder], ...]]:
        slots = [own.declare(item.name) if isinstance(item, Symbol) else own.hidden() for item in names]
        binders = tuple(
            (slot, binder(compiler, item, own))
            for slot, item in zip(slots, names, strict=True)
            if not isinstance(item, Symbol)
        )
        into = rebinding([_into(slot, dict(binders).get(slot)) for slot in slots])

        def rebind(frame: Frame, values: list[Any]) -> None:
            into(frame, values)

        seen[0] = _has_recur(body)
        return compiler.body(body, own, Tail(rebind, len(slots))), binders

    (node, binders), own = compiler.inner(scope, compiled)
    shape = _Shape(
        len(names) - variadic,
        None if variadic else len(names),
        f"#fn[{' '.join(_shown(item) for item in params.items)}]",
        own.size,
        node,
        binders,
        len(names) - 1 if variadic else None,
        tuple((name, slot, outer) for name, (slot, outer) in own.captured.items()),
        own.deepest + _OWN,
        seen[0],
        _source(params, body, form),
    )
    machine = compiler.machine
    return lambda frame: _made(machine, shape, frame)


def _into(slot: int, bind: Binder | None) -> Binder:
    def put(frame: Frame, value: Any) -> None:
        frame[slot] = value
        if bind is not None:
            bind(frame, value)

    return put


def _made(machine: Machine, shape: _Shape, frame: Frame) -> Function:
    template: Frame = [None] * shape.size
    for _, slot, outer in shape.captured:
        template[slot] = frame[outer]
    held = tuple((name, template[slot]) for name, slot, _ in shape.captured)
    machine.charge(_SIZE + 8 * shape.size)
    plain = not shape.binders and shape.rest is None and not shape.recurs
    call = _CALLS.get(shape.low, _call_many)(machine, shape, template) if plain else _call_any(machine, shape, template)
    return Function(call, shape.low, shape.high, shape.shown, shape.form, held)


def _call_one(machine: Machine, shape: _Shape, template: Frame) -> Callable[..., Any]:
    frames, body = shape.frames, shape.body

    def call(argument: Any) -> Any:
        machine.fuel -= 1
        if machine.fuel < 0:
            machine.refuel()
        machine.depth += frames
        if machine.depth > machine.max_depth:
            raise machine.too_deep()
        frame = template.copy()
        frame[0] = argument
        value = body(frame)
        machine.depth -= frames
        return value

    return call


def _call_two(machine: Machine, shape: _Shape, template: Frame) -> Callable[..., Any]:
    frames, body = shape.frames, shape.body

    def call(one: Any, other: Any) -> Any:
        machine.fuel -= 1
        if machine.fuel < 0:
            machine.refuel()
        machine.depth += frames
        if machine.depth > machine.max_depth:
            raise machine.too_deep()
        frame = template.copy()
        frame[0] = one
        frame[1] = other
        value = body(frame)
        machine.depth -= frames
        return value

    return call


def _call_many(machine: Machine, shape: _Shape, template: Frame) -> Callable[..., Any]:
    frames, body, count = shape.frames, shape.body, shape.low

    def call(*arguments: Any) -> Any:
        machine.tick()
        machine.depth += frames
        if machine.depth > machine.max_depth:
            raise machine.too_deep()
        frame = template.copy()
        frame[:count] = arguments
        value = body(frame)
        machine.depth -= frames
        return value

    return call


def _call_any(machine: Machine, shape: _Shape, template: Frame) -> Callable[..., Any]:
    frames, body, low, rest, binders = shape.frames, shape.body, shape.low, shape.rest, shape.binders

    def call(*arguments: Any) -> Any:
        machine.tick()
        machine.depth += frames
        if machine.depth > machine.max_depth:
            raise machine.too_deep()
        frame = template.copy()
        frame[:low] = arguments[:low]
        if rest is not None:
            frame[rest] = list(arguments[low:]) or None
        for slot, bind in binders:
            bind(frame, frame[slot])
        while (value := body(frame)) is RECUR:
            machine.loop()
        machine.depth -= frames
        return value

    return call


_CALLS: Final = {1: _call_one, 2: _call_two}


def _has_recur(forms: tuple[Any, ...]) -> bool:
    return any(symbol.name == "recur" for form in forms for symbol in symbols(form))


def _placeholder(symbol: Symbol) -> int:
    name = symbol.name
    if not name.startswith("%") or name == "%":
        return int(name == "%")
    if not name[1:].isdigit() or len(name) > 3 or not 0 < int(name[1:]) <= _MOST:  # noqa: PLR2004 - % and two digits
        raise Fault("analysis_error", f"{name[:20]} is no placeholder: %, and %1 to %{_MOST}, are", None, symbol.place)
    return int(name[1:])


def _renamed(form: Any) -> Any:
    if isinstance(form, Symbol):
        number = _placeholder(form)
        return Symbol(f"p{number}%", form.place) if number else form
    if isinstance(form, (Call, Brackets, Braces, SetOf)):
        return type(form)(tuple(_renamed(item) for item in form.items), form.place)
    return form


def _shown(item: Any) -> str:
    return item.name.removesuffix("%") if isinstance(item, Symbol) else "[…]" if isinstance(item, Brackets) else "{…}"


def _source(params: Brackets, body: tuple[Any, ...], form: Call) -> Call:
    return Call((Symbol("fn", form.place), params, *body), form.place)


def remade(compiler: Compiler, function: Function) -> Function:
    """A function of another run, made again for this one."""
    scope = Scope()
    slots = [scope.declare(name) for name, _ in function.held]
    node = compiler.compile(function.form, scope)
    frame: Frame = [None] * scope.size
    for slot, (name, value) in zip(slots, function.held, strict=True):
        frame[slot] = inward(value, name, compiler.machine.tick, lambda inner: remade(compiler, inner))
    made = node(frame)
    if not isinstance(made, Function):  # pragma: no cover - it made one before
        raise TypeError
    return made
