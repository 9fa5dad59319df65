"""What an answer has used, whatever the provider writes of it: an odd count is no reason to lose a paid answer."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from .._messages import Usage


def counted(usage: Any, cost: float | None) -> Usage:
    """The count of an answer, from litellm's.

    Args:
        usage: What litellm has made of it, in its names.
        cost: US dollars, if they are known.
    """
    read, written, total = (number(_of(usage, name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    if not read and not written:
        read = total  # nobody knows what of it was written
    details, shares = _of(usage, "prompt_tokens_details"), _of(usage, "completion_tokens_details")
    cached = number(_of(details, "cached_tokens"))
    writes = number(_of(details, "cache_creation_tokens")) or number(_of(usage, "cache_creation_input_tokens"))
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cost=cost,
        cached_tokens=min(cached, read),
        cache_writes=min(writes, read),
        reasoning_tokens=min(number(_of(shares, "reasoning_tokens")), written),
    )


def number(value: Any) -> int:
    """A count of tokens: a number, also one that is written as text; 0 for all else."""
    try:
        read = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return max(0, int(read)) if isfinite(read) else 0


def price(value: Any) -> float | None:
    """A cost; None if it is none."""
    try:
        read = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return read if isfinite(read) and read >= 0 else None


def _of(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
