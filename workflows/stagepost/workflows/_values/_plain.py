"""Which annotations say no more than JSON does."""

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

_SCALARS = (None, NoneType, Any, object, str, int, float, bool, dict, list)


def is_plain(kind: Any) -> bool:
    """Whether values of a type come back from JSON as they were, without being told the type."""
    if any(kind is scalar for scalar in _SCALARS):
        return True
    origin, args = get_origin(kind), get_args(kind)
    if origin in (list, Union, UnionType):
        return all(map(is_plain, args))
    if origin in (dict, Mapping):
        return args[0] is str and is_plain(args[1])
    return isinstance(kind, type) and issubclass(kind, Mapping)
