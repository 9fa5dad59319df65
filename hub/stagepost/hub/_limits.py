"""Durations and counts as callers give them, with infinity for no limit."""

import math
from datetime import timedelta
from numbers import Integral, Real
from typing import Final, TypeAlias

from .errors import InvalidArgument

Duration: TypeAlias = float | timedelta
"""Seconds, or a `timedelta`. Where ``None`` is allowed, it means "no limit"."""

TIMEOUT: Final = float("30")
"""How long senders wait by default, if their hub says nothing else. It is compared by identity: 30.0 is 30 seconds."""

MAILBOX: Final = 100
"""How many messages may wait for an agent by default, if its hub says nothing else."""


def seconds(duration: Duration | None, what: str = "duration") -> float:
    """Return a duration as float seconds, and no limit as infinity.

    Args:
        duration: The duration.
        what: The name of the argument, for the error.

    Raises:
        InvalidArgument: It is negative or not a number.
    """
    if duration is None:
        return math.inf
    value = duration.total_seconds() if isinstance(duration, timedelta) else _number(duration)
    if value >= 0:
        return value
    raise InvalidArgument(
        what, duration, "that is not a duration, use seconds from 0 up, a timedelta, or None for no limit"
    )


def _number(value: object) -> float:
    """A number, or NaN for anything else: text and bools do not count as numbers."""
    if type(value) is float:  # almost always; checking for `Real` costs as much as a send
        return value
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Real)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan


def count(what: str, number: int | None) -> float:
    """Return a positive count, and no limit as infinity.

    Args:
        what: The name of the argument, for the error.
        number: The count.

    Raises:
        InvalidArgument: It is less than 1, or not a whole number.
    """
    if number is None:
        return math.inf
    value: object = number
    is_whole = (isinstance(value, Integral) and not isinstance(value, bool)) or value == math.inf
    if is_whole and number >= 1:
        return number
    raise InvalidArgument(what, number, "use a number from 1 up, or None for no limit")
