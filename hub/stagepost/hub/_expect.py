"""The expected reply of a request: parsed before the request is sent, compared when the reply arrives."""

from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    LiteralString,
    NamedTuple,
    NewType,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

from .errors import InvalidArgument

_REMEDY: Final = "use a class, a union of classes, a Literal, or None for no value"


_KEPT: Final = 256
_known: Final[dict[int, type]] = {}
"""Plain classes that replies can be compared with, by their ids: asking a class itself, such as a model, takes longer
than the rest of `expected`."""


class Expected(NamedTuple):
    """The expected replies: instances of classes, and values.

    Attributes:
        classes: The classes.
        values: The members of a ``Literal``.
    """

    classes: tuple[type, ...] = ()
    values: tuple[object, ...] = ()

    def fits(self, reply: object) -> bool:
        """Whether a reply is an expected one."""
        return isinstance(reply, self.classes) or any(type(reply) is type(one) and reply == one for one in self.values)


def expected(expect: object) -> type | Expected:
    """Parse ``expect=``. As for type checkers, an int fits where a float is expected.

    A type with parameters stands for its class, ``Annotated`` for the type inside, a `NewType` for its base type, a
    type variable for its bound: the contents of a reply are not checked.

    Raises:
        InvalidArgument: Replies cannot be compared with it.
    """
    if type(expect) is type and expect is not float and expect is not complex:
        return expect
    known = _known.get(id(expect))
    if known is not None:
        return known
    found = expect if _is_plain_class(expect) else _read(expect, expect, ())
    try:
        matches(None, found)
    except TypeError as error:  # for example a protocol that is not runtime checkable
        raise InvalidArgument("expect", expect, f"{_REMEDY} ({error})") from None
    if isinstance(found, type):
        if len(_known) >= _KEPT:
            _known.clear()
        _known[id(expect)] = found  # which keeps the class alive, so that no other one gets its id
    return found


def _is_plain_class(expect: object) -> TypeGuard[type]:
    """Whether it is a plain class, such as a model. `_read` would cost as much as a send.

    A ``TypedDict`` is a kind of dict, and `Any` a class of its own since Python 3.11.
    """
    kind = type(expect)
    return kind is not type and issubclass(kind, type) and expect is not Any and not issubclass(expect, dict)  # type: ignore[arg-type]  # what is of a kind of type is a class


def matches(reply: object, wanted: type | Expected) -> bool:
    """Whether a reply matches what `expected` returned."""
    return wanted.fits(reply) if isinstance(wanted, Expected) else isinstance(reply, wanted)


def fits(reply: object, expect: object) -> bool:
    """Whether a reply matches ``expect=``.

    Raises:
        InvalidArgument: Replies cannot be compared with it.
    """
    return matches(reply, expected(expect))


def _read(part: object, whole: object, path: tuple[int, ...]) -> Expected:
    """The classes and values that a part of an annotation stands for."""
    origin = get_origin(part)
    if origin is Literal:
        return Expected(values=get_args(part))
    inner = _inner(part, origin)
    if inner and id(part) not in path:  # an alias may refer to itself
        found = [_read(one, whole, (*path, id(part))) for one in inner]
        return Expected(sum((one.classes for one in found), ()), sum((one.values for one in found), ()))
    cls = None if inner == () else _class_of(origin or part)
    if cls is None:
        raise InvalidArgument("expect", whole, _REMEDY)
    return Expected(cls)


def _inner(part: Any, origin: object) -> tuple[object, ...] | None:
    """The parts of an annotation that stand for it; None if it stands for itself."""
    if isinstance(part, tuple):
        return part
    if origin in (Union, UnionType, Annotated):
        return get_args(part)[: 1 if origin is Annotated else None]
    if isinstance(part, NewType):
        return (part.__supertype__,)
    if isinstance(part, TypeVar):
        return part.__constraints__ or ((part.__bound__,) if part.__bound__ is not None else None)
    if hasattr(part, "__value__") and not isinstance(part, type):  # a `type` statement, or one of its subscriptions
        return (part.__value__,)
    return None


def _class_of(thing: object) -> tuple[type, ...] | None:
    """The classes that a type is an instance of at run time."""
    special: dict[object, tuple[type, ...]] = {
        None: (NoneType,),
        Any: (object,),
        LiteralString: (str,),
        float: (float, int),
        complex: (complex, float, int),
    }
    if isinstance(thing, type):
        return (dict,) if is_typeddict(thing) else special.get(thing, (thing,))
    try:
        return special.get(thing)
    except TypeError:  # it cannot be hashed
        return None
