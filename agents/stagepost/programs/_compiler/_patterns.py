"""Destructuring: patterns of let, loop, fn, for and doseq."""

from collections.abc import Callable
from typing import Any, Final

from .._fault import Fault, refused
from .._keyword import Keyword
from .._reader._forms import Braces, Brackets, Form, Symbol
from .._values._lookup import lookup
from .._values._names import type_word
from ._compiler import Compiler
from ._scope import Binder, Frame, Scope

_MISSING: Final = object()
_GROUPS: Final[dict[str, Callable[[str], Any]]] = {"keys": Keyword, "strs": str}


def binder(compiler: Compiler, form: Form, scope: Scope) -> Binder:
    """What puts a value, or the parts of it that the pattern names, into the frame; declares the names."""
    match form:
        case Symbol(name, place):
            if "/" in name or name.startswith(("%", "&")):
                raise refused(f"{name} cannot be the name of a local value", place)
            return _slot(scope.declare(name))
        case Brackets():
            return _sequence(compiler, form, scope)
        case Braces():
            return _map(compiler, form, scope)
        case _:
            raise refused("a pattern is a name, [a b & rest] or {:keys [a b]}", getattr(form, "place", None))


def _slot(slot: int) -> Binder:
    def put(frame: Frame, value: Any) -> None:
        frame[slot] = value

    return put


def _sequence(compiler: Compiler, form: Brackets, scope: Scope) -> Binder:
    items = list(form.items)
    whole = rest = None
    if len(items) > 1 and items[-2] == Keyword("as"):
        whole = binder(compiler, items[-1], scope)
        del items[-2:]
    ampersands = [index for index, item in enumerate(items) if isinstance(item, Symbol) and item.name == "&"]
    if ampersands:
        if ampersands[0] != len(items) - 2:
            raise refused("& is followed by one pattern, the last", form.place)
        rest = binder(compiler, items.pop(), scope)
        items.pop()
    parts = [binder(compiler, item, scope) for item in items]
    count, place = len(parts), form.place

    def bind(frame: Frame, value: Any) -> None:
        if value is not None and not isinstance(value, (list, str)):
            raise _unfit("list", value, place)
        given = list(value or ())
        for index, part in enumerate(parts):
            part(frame, given[index] if index < len(given) else None)
        if rest is not None:
            rest(frame, given[count:] or None)
        if whole is not None:
            whole(frame, value)

    return bind


def _map(compiler: Compiler, form: Braces, scope: Scope) -> Binder:
    wanted, defaults, name = _fields(form)
    whole = binder(compiler, name, scope) if name is not None else None
    # defaults are evaluated before the names are declared, so they see what is outside
    made = {name: compiler.compile(given, scope) for name, given in defaults.items()}
    parts = [
        (binder(compiler, item, scope), key, made.get(item.name) if isinstance(item, Symbol) else None)
        for item, key in wanted
    ]
    place = form.place

    def bind(frame: Frame, value: Any) -> None:
        if value is not None and not isinstance(value, dict):
            raise _unfit("map", value, place)
        for part, key, default in parts:
            found = lookup(value, key, _MISSING)
            if found is _MISSING:
                found = default(frame) if default is not None else None
            part(frame, found)
        if whole is not None:
            whole(frame, value)

    return bind


def _fields(form: Braces) -> tuple[list[tuple[Form, Any]], dict[str, Any], Symbol | None]:
    """What is bound to which keys, the defaults by name, and the name of the whole."""
    wanted: list[tuple[Form, Any]] = []
    defaults: dict[str, Any] = {}
    whole = None
    for key, value in zip(form.items[::2], form.items[1::2], strict=True):
        match key, value:
            case Keyword(twin=("keys" | "strs") as group), Brackets(items):
                wanted += [(item, _GROUPS[group](_plain(item, form))) for item in items]
            case Keyword(twin="or"), Braces(items):
                defaults = {_plain(name, form): given for name, given in zip(items[::2], items[1::2], strict=True)}
            case Keyword(twin="as"), Symbol():
                whole = value
            case _ if isinstance(value, str) and not isinstance(key, str):
                wanted.append((key, value))
            case _:
                what = "a pattern for maps is {:keys [a b]}, {name :key}, :or {a default} or :as name"
                raise refused(what, form.place)
    return wanted, defaults, whole


def _plain(item: Form, form: Braces) -> str:
    if isinstance(item, Symbol):
        return item.name
    raise refused("names of fields are expected", form.place)


def _unfit(expected: str, value: Any, place: int) -> Fault:
    return Fault("type_error", f"destructuring: expected {expected} or nil, got {type_word(value)}", None, place)
