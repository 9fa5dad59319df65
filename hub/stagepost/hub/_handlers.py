"""An agent's handlers, ready to be called."""

from collections.abc import Callable
from functools import cached_property
from inspect import (
    Parameter,
    getattr_static,
    isabstract,
    isasyncgen,
    isawaitable,
    isfunction,
    isgenerator,
    ismethod,
    signature,
)
from types import FunctionType
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from ._blueprint import Blueprint, has_hooks
from ._layers import name_of
from ._marks import check_unmarked, mark_of, marked_names
from ._payloads import most_specific
from ._signature import Signature, read_signature
from .errors import InvalidHandler, NoHandler

_FOUND_KEPT: Final = 256
_VARIADIC: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)

Methods: TypeAlias = dict[type, tuple[str, Signature]]


class Handler:
    """One function of one agent. Its attributes are those of its `Signature`, plus the function to call.

    Attributes:
        call: Takes the payload or message and, if it `takes_context`, ``context=``.
        is_plain: Whether ``await call(payload)`` is all there is to do.
    """

    __slots__ = ("call", "is_async", "is_plain", "may_generate", "name", "streams", "takes_context", "takes_message")

    def __init__(self, call: Callable[..., Any], signature: Signature) -> None:
        self.call = call
        self.name = signature.name
        self.is_async = signature.is_async
        self.takes_message = signature.takes_message
        self.takes_context = signature.takes_context
        self.may_generate = signature.may_generate
        self.streams = signature.streams
        self.is_plain = not (signature.may_generate or signature.takes_message or signature.takes_context)


def _ignore(payload: object) -> None:
    """Handle nothing."""


NOBODY: Final = Handler(_ignore, read_signature(_ignore))
"""The handler of messages that have none."""


class Handlers:
    """The handlers of one agent by payload class."""

    __slots__ = ("_found", "exact")

    def __init__(self, exact: dict[type, Handler]) -> None:
        self.exact: Final = exact
        self._found: dict[type, Handler | None] | None = None

    def find(self, recipient: str, payload: type) -> Handler:
        """The handler for a class.

        Raises:
            NoHandler: There is none; `recipient` is only used for this error.
        """
        handler = self.look_up(payload)
        if handler is None:
            raise NoHandler(recipient, payload, self.exact)
        return handler

    def look_up(self, payload: type) -> Handler | None:
        """The handler for a class, or for its nearest ancestor that has one; None if there is none."""
        handler = self.exact.get(payload)
        if handler is not None:
            return handler
        found = self._found
        if found is None:
            found = self._found = {}
        elif payload in found:
            return found[payload]
        known = most_specific(payload, self.exact)
        if len(found) >= _FOUND_KEPT:
            found.clear()
        handler = found[payload] = None if known is None else self.exact[known]
        return handler


class HandlerReader:
    """Reads handlers from functions and objects; each function's and class's signatures are parsed only once."""

    def __init__(self) -> None:
        self._functions: WeakKeyDictionary[object, Signature] = WeakKeyDictionary()
        self._classes: WeakKeyDictionary[type, Methods] = WeakKeyDictionary()

    def read(self, source: object) -> tuple[Handlers, Blueprint | None]:
        """The handlers of a function, a callable, an object with methods marked by `handles`, or its class.

        Returns:
            The handlers, and for a class or an object with hooks the blueprint to make and start it.

        Raises:
            InvalidHandler: There are none, or one cannot be used.
        """
        if isinstance(source, type):
            return self._of_class(source)
        if not isfunction(source) and not ismethod(source) and has_hooks(source):
            blueprint = Blueprint(source)
            return self._of_object(source), blueprint
        return self._of_anything(source), None

    def read_keyed(self, source: object, method: Callable[[str], Callable[..., Any]]) -> tuple[Handlers, bool]:
        """The handlers of an agent with an instance for each key: of a class, or a function or object without hooks.

        Args:
            source: The class, function or object.
            method: Makes what calls a method of the instance whose message it is.

        Returns:
            The handlers, and whether a class takes the key.

        Raises:
            InvalidHandler: There are none, or one cannot be used.
        """
        if isinstance(source, type):
            methods, takes_key = self._methods_of_class(source, also="key")
            return _handlers_by(method, methods), takes_key
        handlers, blueprint = self.read(source)
        if blueprint is not None:
            problem = "has on_start or on_stop, and there is an instance for each key"
            raise InvalidHandler(name_of(source), problem, "register its class")
        return handlers, False

    def _of_class(self, source: type) -> tuple[Handlers, Blueprint]:
        methods, _ = self._methods_of_class(source)
        blueprint = Blueprint(source)
        return _handlers_by(blueprint.method, methods), blueprint

    def _methods_of_class(self, source: type, also: str | None = None) -> tuple[Methods, bool]:
        """The marked methods of a class whose constructor needs no argument, or only `also`; whether it takes that."""
        methods = self._methods(source)
        if not methods:
            raise InvalidHandler(name_of(source), "is a class without handlers", "mark its methods with @handles")
        if isabstract(source) or getattr(source, "_is_protocol", False):
            raise InvalidHandler(name_of(source), "is an abstract class", "register one that has all of its methods")
        parameters = _parameters_of(source)
        required = [
            parameter.name
            for parameter in parameters
            if parameter.default is Parameter.empty and parameter.kind not in _VARIADIC and parameter.name != also
        ]
        if required:
            problem = f"is a class whose constructor needs {', '.join(required)}"
            raise InvalidHandler(name_of(source), problem, "give them defaults, or register an instance")
        return methods, any(parameter.name == also for parameter in parameters)

    def _methods(self, cls: type) -> Methods:
        methods = self._classes.get(cls)
        if methods is None:
            methods = self._classes[cls] = _read_methods(cls)
        return methods

    def _of_anything(self, source: object) -> Handlers:
        if isfunction(source):
            return self._single(source, source, method=False)
        if ismethod(source):
            return self._single(source, source.__func__, method=True)
        return self._of_object(source)

    def _of_object(self, source: object) -> Handlers:
        cls = type(source)
        methods = self._methods(cls)
        check_unmarked(source)
        if methods:
            return Handlers(
                {payload: Handler(getattr(source, name), signature) for payload, (name, signature) in methods.items()}
            )
        if callable(source):
            call = cls.__call__
            return self._single(source, call if isfunction(call) else source, method=isfunction(call))
        if isawaitable(source) or isgenerator(source) or isasyncgen(source):
            raise InvalidHandler(name_of(source), "was called already", "pass the function itself, without calling it")
        raise InvalidHandler(
            name_of(source), "has nothing that handles messages", "mark methods with @handles, or pass a function"
        )

    def _single(self, call: Callable[..., object], function: Callable[..., object], *, method: bool) -> Handlers:
        signature = self._functions.get(function) if isinstance(function, FunctionType) else None
        if signature is None:
            signature = read_signature(function, mark_of(call) or (), method=method)
            if isinstance(function, FunctionType):
                self._functions[function] = signature
        handler = Handler(call, signature)
        return Handlers(dict.fromkeys(signature.payloads, handler))


def _handlers_by(method: Callable[[str], Callable[..., Any]], methods: Methods) -> Handlers:
    return Handlers({payload: Handler(method(name), signature) for payload, (name, signature) in methods.items()})


def _parameters_of(cls: type) -> list[Parameter]:
    """The parameters of a class's constructor; none if it cannot be read."""
    try:
        return list(signature(cls).parameters.values())
    except (TypeError, ValueError):
        return []


def _read_methods(cls: type) -> Methods:
    """The marked methods of a class; an override of a marked method needs no mark."""
    methods: Methods = {}
    for name, declared in marked_names(cls).items():
        signature = _read_method(cls, name, declared)
        for payload in signature.payloads:
            if payload in methods:
                problem = f"handles {payload.__qualname__}, as {methods[payload][1].name} does"
                raise InvalidHandler(signature.name, problem, "leave one handler for each payload class")
            methods[payload] = (name, signature)
    return methods


def _read_method(cls: type, name: str, declared: tuple[type, ...]) -> Signature:
    attribute = getattr_static(cls, name)
    if isinstance(attribute, property | cached_property) or not callable(getattr(cls, name)):
        raise InvalidHandler(f"{cls.__module__}.{cls.__qualname__}.{name}", "is not a method", "make it a plain method")
    is_bound = isinstance(attribute, staticmethod | classmethod) or not hasattr(type(attribute), "__get__")
    return read_signature(getattr(cls, name), declared, method=not is_bound)
