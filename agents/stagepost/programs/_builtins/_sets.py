"""Sets."""

from collections.abc import Callable
from typing import Any, Final

from .._machine import Machine
from .._values._names import wrong_types
from .._values._types import Builtin
from ._sequence import family


def _combined(name: str, act: Callable[..., frozenset[Any]]) -> Callable[..., frozenset[Any]]:
    def combined(m: Machine, *sets: Any) -> frozenset[Any]:
        given = [frozenset() if each is None else each for each in sets]
        if not all(type(each) is frozenset for each in given):
            raise wrong_types(name, *sets, hint="sets are expected: (set coll)")
        m.touch(sum(map(len, given)))
        return m.members(act(*given))

    return combined


B = Builtin
SETS: Final = family(
    "Set",
    B("union", 0, None, _combined("union", lambda *sets: frozenset().union(*sets)), "what is in one of them"),
    B("intersection", 1, None, _combined("intersection", frozenset.intersection), "what is in all of them"),
    B("difference", 1, None, _combined("difference", frozenset.difference), "what is in the first only"),
)
