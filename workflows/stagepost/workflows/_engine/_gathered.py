"""How large the values become that the outcomes of a fan-out's items are gathered in."""

from math import inf

from stagepost.checkpoint import Limits, ValueTooLarge

from .._plans._plan import Items
from .._values._state import Value


class Gathered:
    """Adds up what items contribute, so that a fan-out ends as soon as its values cannot be stored.

    Args:
        pattern: The fan-out.
        path: Its path from the run's root.
        grows: Whether a key holds a list that only grows: of such a list only the single elements are limited.
        limits: How large a value may be.

    Attributes:
        excess: Says which value is too large, once one is.
    """

    def __init__(self, pattern: Items, path: str, grows: frozenset[str], limits: Limits) -> None:
        self.excess: ValueTooLarge | None = None
        self._pattern = pattern
        self._path = path
        self._values = self._failures = 1  # the brackets, but for a comma that is counted too many
        self._refused = limits.refuse or 0
        most = inf if limits.refuse is None else limits.refuse
        self._most_values, self._most_failures = (
            inf if key is None or key in grows else most for key in (pattern.gathers, pattern.failures)
        )

    def add_value(self, value: Value) -> None:
        """Count the value of an item."""
        self._values = total = self._values + len(value.data) + 1  # and a comma
        if total > self._most_values:
            self._exceed(self._pattern.gathers, total)

    def add_failure(self, failure: bytes) -> None:
        """Count what is stored of an item's failure."""
        self._failures += len(failure) + 1
        if self._failures > self._most_failures:
            self._exceed(self._pattern.failures, self._failures)

    def _exceed(self, key: str | None, size: int) -> None:
        if self.excess is None:
            self.excess = ValueTooLarge(f"{key} of {self._path!r}", size, self._refused)
