"""What is asked for page by page."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from .errors import CannotDecrypt, CorruptRun, CorruptSchedule

T = TypeVar("T")
Unreadable: TypeAlias = CorruptRun | CorruptSchedule | CannotDecrypt
"""What stands in the place of something that cannot be read; `run_id` and `reason` are attributes of each."""


class Page(NamedTuple, Generic[T]):
    """Some of what was asked for, and where the rest begins.

    Attributes:
        items: What was found.
        next: Give it as ``after=`` to get the following page; None: this was the last one. A page may hold less than
            was asked for, or nothing, and have a following one.
        damaged: What could not be read on the way, each as the error that reading it alone raises.
        previous: Give it as ``before=`` to get the preceding page, where that is to be had; None: this was the first
            one. It stays valid, as `next` does.
    """

    items: Sequence[T]
    next: str | None = None
    damaged: Sequence[Unreadable] = ()
    previous: str | None = None
