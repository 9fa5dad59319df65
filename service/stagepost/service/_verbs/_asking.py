"""Answers, as whoever asks takes them."""

from collections.abc import Mapping
from typing import Any


def as_asked(shown: object, value: Any) -> Any:
    """A value as whoever asks takes it: calls of an agent's external tools take it with its kind.

    Args:
        shown: What the wait shows.
        value: The value.
    """
    if not (isinstance(shown, Mapping) and {"agent", "tool", "schema"} <= shown.keys()):
        return value
    is_whole = isinstance(value, Mapping) and value.get("kind") in ("answer", "refuse", "dismiss")
    return value if is_whole else {"kind": "answer", "value": value}
