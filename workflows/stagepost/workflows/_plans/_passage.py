"""What a branch leaves and enters on its way from one place to the next, as a pure function of the two."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ._within import Level


class Passage(NamedTuple):
    """A way from one place to another.

    Attributes:
        left: Patterns that have ended, innermost first, each with the child that came last.
        passed: The innermost pattern that goes on, with its child that has ended; None if none of its children has.
        into: The same pattern with its child that comes now; None where `passed` is.
        begun: Patterns that begin, outermost first, each with the child that comes first.
    """

    left: Sequence[Level]
    passed: Level | None
    into: Level | None
    begun: Sequence[Level]


def passage(before: Sequence[Level], after: Sequence[Level], entered: Collection[str]) -> Passage:
    """Compare what encloses two places of one plan. Their outermost pattern is the same.

    Args:
        before: What encloses the place that was left, outermost first; nothing at the beginning.
        after: What encloses the place that was reached; nothing at the end.
        entered: Paths of the graph nodes that were entered on the way, some of them perhaps again.
    """
    for depth, (old, new) in enumerate(zip(before, after, strict=False)):
        if old.child != new.child or new.child_path in entered:
            return Passage(before[depth + 1 :][::-1], old, new, after[depth + 1 :])
    shared = min(len(before), len(after))
    return Passage(before[shared:][::-1], None, None, after[shared:])
