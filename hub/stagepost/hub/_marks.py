"""The decorator that marks methods as handlers."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FunctionType, UnionType
from typing import Any, Final, ForwardRef, NewType, TypeAlias, TypeVar, cast, get_origin, overload

from ._facts import shown
from ._layers import hidden, layers, name_of, noted_on
from ._payloads import Unroutable, payload_classes
from .errors import InvalidHandler

_MARK: Final = "__stagepost_handles__"
_USE: Final = "use @handles on a method, or @handles(ItsClass) to name the payload's class"

Payload: TypeAlias = type | UnionType | None
FunctionT = TypeVar("FunctionT", bound=Callable[..., object])


@overload
def handles(payload: Payload, /, *more: Payload) -> Callable[[FunctionT], FunctionT]: ...
@overload
def handles(function: FunctionT, /) -> FunctionT: ...
def handles(first: Payload | FunctionT, /, *more: Payload) -> FunctionT | Callable[[FunctionT], FunctionT]:
    """Mark a method as the handler for the payloads that its first parameter is annotated with.

    ``@handles(Question, Note)`` names the payload classes explicitly, also for functions whose annotation is missing or
    cannot be read at run time. Put it above or below ``@staticmethod`` and ``@classmethod``, and above other
    decorators, unless those use `functools.wraps`.

    Raises:
        InvalidHandler: The argument is neither a function nor a class.
    """
    if _is_annotation(first) or more:
        payloads = tuple(dict.fromkeys(cls for payload in (first, *more) for cls in _classes(payload)))
        return lambda function: _marked(function, payloads)
    return _marked(cast("FunctionT", first), ())


def _is_annotation(thing: object) -> bool:
    special = isinstance(thing, type | NewType | TypeVar | ForwardRef | str) or thing is None or thing is Any
    return special or get_origin(thing) is not None or hasattr(thing, "__value__")


def _classes(payload: object) -> Iterator[type]:
    try:
        yield from payload_classes(payload)
    except Unroutable as error:
        raise InvalidHandler(f"for {shown(payload)}", f"is marked with what {error.why}", _USE) from None


def _marked(function: FunctionT, payloads: tuple[type, ...]) -> FunctionT:
    if callable(function) or hasattr(type(function), "__get__"):
        with suppress(AttributeError, TypeError):
            setattr(function, _MARK, payloads)
            return function
    raise InvalidHandler(name_of(function), "is not a function that can be marked", _USE)


def mark_of(thing: object) -> tuple[type, ...] | None:
    """The payload classes given to `handles`; empty if the annotation decides, None without a mark."""
    for layer in layers(thing):
        mark = noted_on(layer, _MARK)
        if isinstance(mark, tuple):
            return mark
    return None


def marked_names(cls: type) -> dict[str, tuple[type, ...]]:
    """The names of a class's marked attributes, with their marks; base classes included.

    Raises:
        InvalidHandler: A decorator hides a mark.
    """
    marked: dict[str, tuple[type, ...]] = {}
    for base in cls.__mro__:
        for name, attribute in vars(base).items():
            mark = mark_of(attribute)
            if mark is not None:
                marked.setdefault(name, mark)
            elif name not in marked:
                _check_hidden(base, attribute)
    return marked


def _check_hidden(owner: type, attribute: object) -> None:
    """Refuse a decorator that hides the marked method of a class."""

    def is_marked(function: FunctionType) -> bool:
        is_own = function.__module__ == owner.__module__ and function.__qualname__.startswith(f"{owner.__qualname__}.")
        return is_own and mark_of(function) is not None

    method = hidden(attribute, is_marked)
    if method is not None:
        raise InvalidHandler(
            name_of(method),
            "is marked by @handles below a decorator that hides the mark",
            "put @handles(ItsClass) above the decorator, or let that use functools.wraps",
        )


def check_unmarked(source: object) -> None:
    """Refuse marked functions in instance attributes: only methods of the class count.

    Raises:
        InvalidHandler: There is such a function.
    """
    for name, value in getattr(source, "__dict__", {}).items():
        if isinstance(value, FunctionType) and mark_of(value) is not None:
            problem = f"is marked, but only an attribute ({name!r}) of an instance"
            raise InvalidHandler(name_of(value), problem, "make it a method of the class, or register it by itself")
