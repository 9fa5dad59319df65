"""Coroutines where a value should be: somebody has forgotten an `await`."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from types import CoroutineType
from typing import Final

from pydantic import BaseModel

from ..errors import NotAwaited

_MOST: Final = 10_000  # values that are looked through


def refuse_unawaited(value: object, where: str) -> None:
    """See that nothing in a value is a coroutine. For values that were refused already: it goes through all of it.

    Coroutines are closed, so that Python does not warn of them as well.

    Args:
        value: What was given.
        where: By whom, for the error.

    Raises:
        NotAwaited: One is.
    """
    found = list(_coroutines(value))
    for _, coroutine in found:
        coroutine.close()
    if found:
        key, coroutine = found[0]
        raise NotAwaited(where, key, coroutine.__qualname__)


def _coroutines(value: object) -> Iterator[tuple[str, "CoroutineType[object, object, object]"]]:
    """Those in a value, each with where it stands."""
    ahead: list[tuple[str, object]] = [("", value)]
    looked = 0
    while ahead and looked < _MOST:
        looked += 1
        key, last = ahead.pop()
        if isinstance(last, CoroutineType):
            yield key, last
        else:
            ahead.extend(reversed([(f"{key}.{name}" if key else name, each) for name, each in _members(last)]))


def _members(value: object) -> Iterator[tuple[str, object]]:
    """What a value consists of, as far as that can be looked at without running anybody's code."""
    if type(value) in (list, tuple, set, frozenset) and isinstance(value, list | tuple | AbstractSet):
        yield from ((str(index), each) for index, each in enumerate(value))
    elif isinstance(value, dict):
        yield from ((key, each) for key, each in dict.items(value) if isinstance(key, str))
    elif isinstance(value, BaseModel):
        yield from vars(value).items()
