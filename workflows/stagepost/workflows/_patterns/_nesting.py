"""How deep patterns may be nested."""

from collections.abc import Sequence
from typing import Final, Protocol

from ..errors import DefinitionError

DEEPEST: Final = 32
"""Patterns inside each other.

The innermost fan-out is some seven Python calls deeper in the stack than the one around it, and Python allows 1,000 in
all. So twice as many run, also where the program that starts them has used up half of the stack.
"""

_SHOWN: Final = 4  # names of a path that an error shows


class Nested(Protocol):
    """A pattern, as far as nesting goes."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> str:
        """What it is, in one word."""
        ...

    @property
    def inside(self) -> "Sequence[Nested]":
        """Patterns that are its parts."""
        ...


def check_nesting(outermost: Nested, part: Nested | None = None) -> None:
    """See that patterns are not nested too deep to be executed, nor inside themselves.

    It goes level by level, each pattern once in each, so that it needs no stack itself.

    Args:
        outermost: The pattern.
        part: One that it is about to get as a part, instead of those that it has.

    Raises:
        DefinitionError: They are.
    """
    level: list[tuple[Nested, tuple[str, ...]]]
    level = [(inner, (outermost.name,)) for inner in (outermost.inside if part is None else [part])]
    for _ in range(DEEPEST - 1):
        if not level:
            return
        found = {id(inner): (inner, (*path, pattern.name)) for pattern, path in level for inner in pattern.inside}
        level = list(found.values())
    if level:
        pattern, path = level[0]
        raise DefinitionError(f"{outermost.kind} {outermost.name!r}", _too_deep((*path, pattern.name)))


def _too_deep(path: Sequence[str]) -> str:
    shown = "/".join((*path[:_SHOWN], "…", path[-1]))
    return (
        f"more than {DEEPEST} patterns are nested inside each other ({shown}), which the stack of Python does not "
        "bear: make an inner one a workflow of its own and start it in a step, by context.child()"
    )
