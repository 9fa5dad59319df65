"""Durations and counts as callers write them, with infinity for no limit."""

import math
from datetime import timedelta
from typing import TypeAlias

Duration: TypeAlias = float | timedelta
"""Seconds, or a `timedelta`. Where ``None`` is allowed beside it, it means "no limit"."""


def seconds(duration: Duration | None) -> float:
    """Return a duration as float seconds, and no limit as infinity.

    Raises:
        ValueError: It is negative or not a number.
    """
    if duration is None:
        return math.inf
    value: object = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if isinstance(value, int | float) and value >= 0:
        return float(value)
    raise ValueError(f"{duration!r} is no duration: use seconds from 0 up, a timedelta, or None for no limit")


def count(what: str, number: int | None) -> float:
    """Return a positive count, and no limit as infinity.

    Raises:
        ValueError: It is less than 1.
    """
    if number is None:
        return math.inf
    if number >= 1:
        return number
    raise ValueError(f"{what} is {number!r}: use a number from 1 up, or None for no limit")
