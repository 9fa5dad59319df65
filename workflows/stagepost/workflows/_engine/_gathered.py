"""How large the values become that the outcomes of a fan-out's items are gathered in."""

from stagepost.checkpoint import ItemStatus, Limits, ValueTooLarge

from .._execution._execution import ItemRecord
from .._programs._program import Items


class Gathered:
    """Adds up what items contribute, so that a fan-out ends as soon as its values cannot be stored.

    Args:
        pattern: The fan-out.
        grows: Whether a key holds a list that only grows: of such a list only the single elements are limited.
        limits: How large a value may be.

    Attributes:
        excess: Says which value is too large, once one is.
    """

    def __init__(self, pattern: Items, grows: frozenset[str], limits: Limits) -> None:
        self.excess: ValueTooLarge | None = None
        self._pattern = pattern
        self._limits = limits
        self._sizes = {key: 1 for key in (pattern.gathers, pattern.failures) if key is not None and key not in grows}

    def add(self, item: ItemRecord, failure: bytes | None = None) -> None:
        """Count the outcome of an item.

        Args:
            item: The item.
            failure: What is stored of its failure, if failures are collected.
        """
        if item.status is ItemStatus.OK:
            self._count(self._pattern.gathers, 0 if item.value is None else len(item.value.data))
        elif failure is not None:
            self._count(self._pattern.failures, len(failure))

    def _count(self, key: str | None, size: int) -> None:
        if key is None or key not in self._sizes:
            return
        self._sizes[key] = total = self._sizes[key] + size + 1  # a comma or the closing bracket
        most = self._limits.refuse
        if most is not None and total > most and self.excess is None:
            self.excess = ValueTooLarge(f"{key!r} of parallel {self._pattern.name!r}", total, most)
