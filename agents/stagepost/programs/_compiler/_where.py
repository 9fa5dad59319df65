"""Predicates on fields: where, all-of, any-of, none-of."""

from collections.abc import Callable
from typing import Any, Final

from .._fault import refused
from .._keyword import Keyword
from .._reader._forms import Brackets, Call, Symbol
from .._values._calling import function
from .._values._equality import equal
from .._values._key import dec
from .._values._lookup import get
from .._values._types import Function
from ._compiler import Compiler, Tail
from ._scope import Frame, Node, Scope

_NUMBERS: Final = (int, float)


def where(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(where k op v)`` and ``(where k)``."""
    match form.items[1:]:
        case (field,):
            read = _path(field, form)
            return lambda _: _predicate(lambda item: _truthy(read(item)))
        case (field, Symbol(name), value) if name in _OPERATORS:
            read, holds = _path(field, form), _OPERATORS[name]
            wanted = compiler.compile(value, scope)
            return lambda frame: _bound(read, holds, wanted(frame))
        case (field, operator, _):
            del operator
            _path(field, form)
            raise refused(f"where: the operator is one of {', '.join(_OPERATORS)}", form.place)
        case (Keyword() as field, value) if type(value) is str:
            raise refused(
                "where takes (where field) or (where field operator value)",
                form.place,
                f'write (where {field} = "{value[:40]}")',
            )
        case _:
            raise refused("where takes (where field) or (where field operator value)", form.place)


def combined(compiler: Compiler, form: Call, scope: Scope, _: Tail | None) -> Node:
    """``(all-of p…)``, ``(any-of p…)`` and ``(none-of p…)``."""
    nodes = [compiler.compile(item, scope) for item in form.items[1:]]
    name, machine = form.items[0].name, compiler.machine

    def make(frame: Frame) -> Function:
        calls = [function(machine, node(frame), 1, name) for node in nodes]
        if name == "all-of":
            return _predicate(lambda item: all(_truthy(call(item)) for call in calls))
        wanted = name == "any-of"
        return _predicate(lambda item: any(_truthy(call(item)) for call in calls) is wanted)

    return make


def _predicate(call: Callable[[Any], bool]) -> Function:
    return Function(call, 1, 1, "#fn[item]")


def _bound(read: Callable[[Any], Any], holds: Callable[[Any, Any], bool], wanted: Any) -> Function:
    return _predicate(lambda item: holds(read(item), wanted))


def _path(field: Any, form: Call) -> Callable[[Any], Any]:
    if isinstance(field, str):
        return lambda item: get(item, field)
    if not isinstance(field, Brackets) or not all(isinstance(part, (str, int)) for part in field.items):
        raise refused("where: a field is a keyword, or a vector of keywords", form.place)
    parts = field.items

    def read(item: Any) -> Any:
        for part in parts:
            item = get(item, part)
        return item

    return read


def _truthy(value: Any) -> bool:
    return value is not None and value is not False


def _same(left: Any, right: Any) -> bool:
    """Equal, or a keyword and the text of its name."""
    if isinstance(left, str) and isinstance(right, str):
        return _name(left) == _name(right)
    return equal(left, right)


def _name(value: str) -> str:
    return value.twin if isinstance(value, Keyword) else value


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        numbers = type(left) in _NUMBERS and type(right) in _NUMBERS
        return (numbers or (type(left) is str and type(right) is str)) and compare(left, right)

    return holds


def _includes(left: Any, right: Any) -> bool:
    if type(left) is str:
        return isinstance(right, str) and _name(right) in left
    return _member(right, left)


def _member(member: Any, collection: Any) -> bool:
    if isinstance(collection, (list, frozenset)):
        return any(_same(member, dec(each)) for each in collection)
    return False


_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": _same,
    "not=": lambda left, right: not _same(left, right),
    ">": _ordered(lambda left, right: left > right),
    "<": _ordered(lambda left, right: left < right),
    ">=": _ordered(lambda left, right: left >= right),
    "<=": _ordered(lambda left, right: left <= right),
    "includes": _includes,
    "in": _member,
}
