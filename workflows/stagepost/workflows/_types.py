"""Annotations as codecs: which values need a type to come back as they were."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from stagepost.checkpoint import TypedCodec, codec_for

_SCALARS = (None, NoneType, Any, object, str, int, float, bool, dict, list)


def codec_of(kind: Any) -> TypedCodec[Any] | None:
    """The codec of an annotation, or None if plain JSON says as much.

    Raises:
        CannotStore: Pydantic has no schema for the type.
    """
    return None if _is_plain(kind) else codec_for(kind)


def _is_plain(kind: Any) -> bool:
    if any(kind is scalar for scalar in _SCALARS):
        return True
    origin, args = get_origin(kind), get_args(kind)
    if origin in (list, Union, UnionType):
        return all(map(_is_plain, args))
    if origin is dict:
        return args[0] is str and _is_plain(args[1])
    return isinstance(kind, type) and issubclass(kind, Mapping)


def item_types(function: Callable[..., Any]) -> tuple[Any, Any]:
    """Annotations of a worker's first parameter and of its result; None where there are none.

    Names that only type checkers can see count as missing.
    """
    first, *_ = (*parameter_types(function), None)
    return first, _hints(function).get("return")


def parameter_types(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Annotations of a function's parameters, in their order; None where there are none."""
    hints = _hints(function)
    try:
        return tuple(hints.get(name) for name in inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return get_type_hints(_annotated(function))
    except (NameError, TypeError, ValueError):
        return {}


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """What carries the annotations of a function, a partial of one, or a callable object."""
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__
