"""The payload classes of annotations, and the most specific one for a payload."""

from collections.abc import Collection, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, is_typeddict

from ._contained import attempt


class Unroutable(Exception):
    """An annotation names no class that identifies payloads."""

    def __init__(self, annotation: object, why: str) -> None:
        self.annotation = annotation
        self.why = why
        super().__init__(annotation, why)


def payload_classes(annotation: object) -> Iterator[type]:
    """The classes of an annotation: the members of a union, the class of ``list[str]``.

    Raises:
        Unroutable: There are none.
    """
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from payload_classes(member)
    elif origin is Annotated:
        yield from payload_classes(get_args(annotation)[0])
    elif hasattr(annotation, "__value__"):  # a `type` statement
        yield from payload_classes(annotation.__value__)
    else:
        yield _routable(origin or annotation, annotation)


def _routable(cls: object, annotation: object) -> type:
    if cls is Any:
        return object
    if cls is None:
        return NoneType
    if not isinstance(cls, type):
        raise Unroutable(annotation, "is not a class")
    if is_typeddict(cls):
        raise Unroutable(annotation, "is a plain dict at run time")
    if getattr(cls, "_is_protocol", False):
        raise Unroutable(annotation, "is a protocol, not a class")
    return cls


def most_specific(payload: type, known: Collection[type]) -> type | None:
    """Choose among known classes the one that handles payloads of a class.

    The first in its method resolution order wins, then an abstract base class that it is registered with or that
    recognises it, then `object`.
    """
    for base in payload.__mro__[:-1]:
        if base in known:
            return base
    virtual = [cls for cls in known if cls is not object and _is_below(payload, cls)]
    for cls in virtual:
        if not any(other is not cls and _is_below(other, cls) for other in virtual):
            return cls
    return object if object in known else None


def _is_below(cls: type, other: type) -> bool:
    """Whether a class is a subclass of another one; False if asking that one fails."""
    is_below, failure = attempt(lambda: bool(issubclass(cls, other)))
    return failure is None and is_below is True
