"""What a step has changed, as templates show it."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._drawing._difference import GONE, Difference, difference


def changes_of(
    keys: Sequence[str], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Sequence[tuple[str, bool, Difference]]:
    """For each key of the state that was changed whether it is new, and how its value differs."""
    return [(key, key not in before, difference(before.get(key, GONE), after.get(key, GONE), path=key)) for key in keys]
