"""Dataclasses with slots whose methods are compiled later.

The class that is decorated becomes a draft: nobody uses it. A class with the same body and with slots takes its place,
as the standard library's does, but what `dataclasses` would add to it are descriptors. The first access to any of them
has `dataclasses` complete the draft, and takes over all that it has added. From then on the class is what the standard
library would have made, with the same functions: an instance is made as quickly.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping
from threading import RLock
from types import FunctionType
from typing import Any, ClassVar, TypeVar, get_origin

T = TypeVar("T")

_REPLACE = {"__replace__"} if sys.version_info >= (3, 13) else set[str]()
_ALWAYS = frozenset({"__dataclass_fields__", "__dataclass_params__", "__match_args__"} | _REPLACE)
_USUAL = frozenset({"frozen", "kw_only", "init", "repr", "eq"})


def dataclass(cls: type[T] | None = None, /, **options: bool) -> type[T] | Callable[[type[T]], type[T]]:
    """The standard library's decorator, and for classes with slots the one that compiles later.

    Args:
        cls: The class, where the decorator has no options.
        options: Those of the standard library's.
    """

    def decorated(cls: type[T]) -> type[T]:
        others = {name: value for name, value in options.items() if name != "slots"}
        if options.get("slots") and others.keys() <= _USUAL:
            return _slotted(cls, others)
        return dataclasses.dataclass(**options)(cls)

    return decorated if cls is None else decorated(cls)


class _Draft:
    """A class as it was written, to be completed by `dataclasses`, and the class that takes its place.

    Args:
        written: The class as it was written.
        options: What `dataclasses.dataclass` is given with it.
    """

    def __init__(self, written: type, options: Mapping[str, bool]) -> None:
        self.written = written
        self.final = written
        self.options = options
        self.names = frozenset(_added(vars(written), options))
        self._is_complete = False
        self._lock = RLock()  # threads may need the methods at the same time

    def completed(self) -> Mapping[str, object]:
        """The attributes of the completed draft. The first call completes it, and gives the other class what is new."""
        body = vars(self.written)
        with self._lock:
            if not self._is_complete:
                dataclasses.dataclass(**self.options)(self.written)
                for name in self.names:
                    setattr(self.final, name, body[name])
                self._is_complete = True
        return body


class _Later:
    """An attribute that `dataclasses` will add."""

    __slots__ = ("_draft", "_name")

    def __init__(self, draft: _Draft, name: str) -> None:
        self._draft = draft
        self._name = name

    def __get__(self, instance: object, owner: type) -> object:
        added = self._draft.completed()[self._name]
        return added.__get__(instance, owner) if isinstance(added, FunctionType) else added


def _slotted(written: type[T], options: Mapping[str, bool]) -> type[T]:
    """The class with slots that takes the place of one that was written without."""
    draft = _Draft(written, options)
    own = [name for name, kind in vars(written).get("__annotations__", {}).items() if get_origin(kind) is not ClassVar]
    inherited = {name for base in written.__mro__[1:] for name in vars(base).get("__slots__", ())}
    unwanted = {"__dict__", "__weakref__", *own, *inherited}
    body = {name: value for name, value in vars(written).items() if name not in unwanted}
    body |= {name: _Later(draft, name) for name in draft.names}
    body["__slots__"] = tuple(name for name in own if name not in inherited)
    body["__qualname__"] = written.__qualname__
    final: type[T] = _type_of(written)(written.__name__, written.__bases__, body)
    if options.get("frozen"):
        _freeze(final, frozenset(own))
    draft.final = final
    return final


def _added(body: Mapping[str, object], options: Mapping[str, bool]) -> frozenset[str]:
    """What `dataclasses` adds to a class with this body, but for what makes it frozen, which is ours."""
    chosen = {f"__{name}__" for name in ("init", "repr", "eq") if options.get(name, True)}
    added = {name for name in _ALWAYS | chosen if name not in body}
    if options.get("frozen") and options.get("eq", True) and not _has_hash(body):
        added.add("__hash__")
    return frozenset(added)


def _has_hash(body: Mapping[str, object]) -> bool:
    """Whether the body says itself how to hash: Python adds None where there is only an ``__eq__``."""
    return "__hash__" in body and not (body["__hash__"] is None and "__eq__" in body)


def _type_of(cls: type) -> Callable[[str, tuple[type, ...], dict[str, object]], Any]:
    return type(cls)


def _freeze(cls: type[Any], fields: frozenset[str]) -> None:
    """Have instances refuse changes, and come back from a pickle all the same, as `dataclasses` does.

    Subclasses that are no dataclasses may have more attributes: only fields are refused there.
    """

    def assign(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def delete(self: object, name: str) -> None:
        if type(self) is cls or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    methods = {"__setattr__": assign, "__delattr__": delete, "__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        setattr(cls, name, method)


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
