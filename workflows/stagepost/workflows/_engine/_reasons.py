"""Why items have failed, in few words."""

from collections.abc import Sequence
from typing import Final

from .._pattern_errors import reasons
from ..errors import ItemFailure

_SHOWN: Final = 3


def summary(failures: Sequence[ItemFailure], total: int, *, branches: bool) -> str:
    """Which items failed and why: the most frequent reasons, each with its items.

    Args:
        failures: The items that failed.
        total: How many items there are.
        branches: Whether they are branches, whose errors name them already.
    """
    found = list(reasons(failures).items())
    shown = [why if branches else f"{_which(indexes)}: {why}" for why, indexes in found[:_SHOWN]]
    if len(found) > _SHOWN:
        shown.append(f"and {sum(len(indexes) for _, indexes in found[_SHOWN:])} more")
    return f"{len(failures)} of {total} {'branches' if branches else 'items'} failed: {'; '.join(shown)}"


def _which(indexes: Sequence[int]) -> str:
    if len(indexes) == 1:
        return f"item {indexes[0]}"
    first = ", ".join(map(str, indexes[:_SHOWN]))
    return f"{len(indexes)} items ({first}{', …' if len(indexes) > _SHOWN else ''})"
