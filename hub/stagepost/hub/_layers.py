"""The functions beneath decorators, partials and bound methods."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache, partial, partialmethod
from inspect import (
    CO_ITERABLE_COROUTINE,
    getattr_static,
    isasyncgenfunction,
    iscoroutinefunction,
    isgeneratorfunction,
)
from types import FunctionType, MethodType
from typing import Final

_DEEPEST: Final = 32
_MOST_LOOKED_AT: Final = 500
_Cached: Final = type(lru_cache(len))


def layers(thing: object) -> Iterator[object]:
    """A callable or descriptor, everything that it wraps, down to the function."""
    for _ in range(_DEEPEST):
        yield thing
        thing = _wrapped(thing)
        if thing is None:
            return


def _wrapped(thing: object) -> object:
    if isinstance(thing, partial | partialmethod | cached_property):
        return thing.func
    if isinstance(thing, property):
        return thing.fget
    if isinstance(thing, staticmethod | classmethod | MethodType):
        return thing.__func__
    return noted_on(thing, "__wrapped__")


def noted_on(thing: object, name: str) -> object:
    """An attribute that was set on a callable, without running any code of its class; None if there is none."""
    if type(thing) is FunctionType:  # as most are, and the general look-up takes thirty times as long
        return thing.__dict__.get(name)
    return getattr_static(thing, name, None)


def name_of(thing: object) -> str:
    """The module and qualified name of a callable or of what it wraps, or else of its class."""
    named = next((layer for layer in layers(thing) if hasattr(layer, "__qualname__")), type(thing))
    module = getattr(named, "__module__", None)
    name: str = getattr(named, "__qualname__", "")
    return f"{module}.{name}" if isinstance(module, str) else name


def scope_of(thing: object) -> dict[str, object]:
    """The scope in which the names in a function's annotations are looked up."""
    scope: dict[str, object] = {}
    for layer in layers(thing):
        scope = getattr(layer, "__globals__", scope)
    return scope


def generates(thing: object) -> bool:
    """Whether a call may return a generator instead of running the function."""
    for layer in layers(thing):
        code = _called(layer)
        if isasyncgenfunction(code) or (isgeneratorfunction(code) and not _is_coroutine_by_types(code)):
            return True
    return False


def turned(thing: object) -> str | None:
    """What a decorator of the standard library has made of a generator function, if it cannot stream any more."""
    for layer in layers(thing):
        if isinstance(layer, _Cached):
            return "a function that returns the same generator again"
        if isinstance(layer, FunctionType) and layer.__globals__ is vars(contextlib):
            return "a context manager"
    return None


def is_coroutine_function(thing: object) -> bool:
    """Whether a call always returns a coroutine."""
    return iscoroutinefunction(thing) or iscoroutinefunction(_called(thing))


def _called(thing: object) -> object:
    """The function that runs when something is called."""
    call = getattr(type(thing), "__call__", None)  # noqa: B004  # the function is wanted, not whether there is one
    return call if isinstance(call, FunctionType) else thing


def _is_coroutine_by_types(function: object) -> bool:
    """Whether `types.coroutine` has made a generator function awaitable."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & CO_ITERABLE_COROUTINE)


def hidden(thing: object, wanted: Callable[[FunctionType], bool]) -> FunctionType | None:
    """A function that another one encloses: the target of a decorator that does not set ``__wrapped__``."""
    pending, seen = deque([thing]), set[int]()
    while pending and len(seen) < _MOST_LOOKED_AT:
        part = pending.popleft()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, FunctionType) and wanted(part):
            return part
        pending.extend(_parts(part))
    return None


def _parts(thing: object) -> Iterator[object]:
    """The closure of a function, or the attributes of a callable object."""
    if isinstance(thing, FunctionType):
        for cell in thing.__closure__ or ():
            with suppress(ValueError):  # not filled yet
                yield cell.cell_contents
        yield from thing.__defaults__ or ()
        yield from (thing.__kwdefaults__ or {}).values()
    elif not isinstance(thing, type) and (callable(thing) or hasattr(type(thing), "__get__")):
        with suppress(AttributeError):
            yield from object.__getattribute__(thing, "__dict__").values()
        yield _wrapped(thing)
