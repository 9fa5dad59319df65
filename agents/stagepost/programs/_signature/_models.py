"""Makes types of signatures of Python's: of pydantic models, typed dictionaries and annotations."""

import types
from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from .._errors import InvalidSignature
from .._keyword import Keyword
from ._types import Field, Kind, ListOf, MapOf, Maybe, Type

_KINDS: Final[dict[Any, Kind]] = {
    str: Kind.STRING,
    int: Kind.INT,
    float: Kind.FLOAT,
    bool: Kind.BOOL,
    Keyword: Kind.KEYWORD,
    Any: Kind.ANY,
    object: Kind.ANY,
    dict: Kind.MAP,
    Mapping: Kind.MAP,
}


def type_of(annotation: Any, path: str, above: tuple[Any, ...] = ()) -> Type:
    """The type of a signature for an annotation.

    Raises:
        InvalidSignature: It has no form in signatures; the message names the field.
    """
    annotation = _unwrapped(annotation)
    if get_origin(annotation) in {Union, types.UnionType}:
        return _optional(annotation, path, above)
    if annotation in _KINDS:
        return _KINDS[annotation]
    if annotation is list or get_origin(annotation) is list:
        (item,) = get_args(annotation) or (Any,)
        return ListOf(type_of(item, f"{path}[]", above))
    if get_origin(annotation) in {dict, Mapping}:
        return Kind.MAP
    if is_typeddict(annotation) or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return MapOf(fields_of(annotation, path, above))
    raise InvalidSignature(
        f"{path}: {annotation!r} has no form in signatures: use str, int, float, bool, Any, a list, a dict, a model, "
        "or one of these or None"
    )


def fields_of(model: Any, path: str = "", above: tuple[Any, ...] = ()) -> tuple[Field, ...]:
    """The fields of a pydantic model or of a typed dictionary."""
    if model in above:
        raise InvalidSignature(f"{path}: {model.__name__} refers to itself, and signatures have an end")
    where = f"{path}." if path else ""
    if is_typeddict(model):
        hints = get_type_hints(model, include_extras=True)
        optional = model.__optional_keys__
        return tuple(
            _field(name, hint, f"{where}{name}", (*above, model), optional=name in optional)
            for name, hint in hints.items()
        )
    return tuple(
        _field(name, info.annotation, f"{where}{name}", (*above, model), optional=not info.is_required(), info=info)
        for name, info in model.model_fields.items()
    )


def _field(
    name: str, hint: Any, path: str, above: tuple[Any, ...], *, optional: bool, info: FieldInfo | None = None
) -> Field:
    made = type_of(hint, path, above)
    if optional and not isinstance(made, Maybe):
        made = Maybe(made)
    described = info or next((of for of in _metadata(hint) if isinstance(of, FieldInfo)), None)
    return Field(name, made, described.description if described else None)


def _optional(annotation: Any, path: str, above: tuple[Any, ...]) -> Maybe:
    members = [member for member in get_args(annotation) if member is not types.NoneType]
    if len(members) != 1 or len(members) == len(get_args(annotation)):
        raise InvalidSignature(
            f"{path}: {annotation!r} has no form in signatures, which know no union but with None; use Any or one type"
        )
    made = type_of(members[0], path, above)
    return made if isinstance(made, Maybe) else Maybe(made)


def _unwrapped(annotation: Any) -> Any:
    while get_origin(annotation) in {Annotated, NotRequired, Required}:
        annotation = get_args(annotation)[0]
    return annotation


def _metadata(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in {NotRequired, Required}:
        annotation = get_args(annotation)[0]
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
