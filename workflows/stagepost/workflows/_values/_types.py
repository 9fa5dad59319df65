"""Annotations as codecs: which values need a type to come back as they were."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_type_hints

from stagepost.checkpoint import CannotStore, TypedCodec, codec_for

from ._append import list_codec
from ._plain import is_plain


def codec_of(kind: Any) -> TypedCodec[Any] | None:
    """The codec of an annotation, or None if plain JSON says as much; a codec is its own.

    Raises:
        CannotStore: It is no type, or pydantic has no schema for it.
    """
    if isinstance(kind, TypedCodec):
        return kind
    if isinstance(kind, str) or type(kind).__hash__ is None:
        raise CannotStore(f"type {kind!r:.80}", "it is no type: give a class, such as bool, or an annotation")
    return list_codec(kind) or (None if is_plain(kind) else codec_for(kind))


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
