"""What is read page by page."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from .errors import CorruptRun

T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    """A part of what was asked for.

    Attributes:
        items: It.
        next: Where the next page begins: give it as ``after=``. None if this is the last one.
        damaged: What could not be read on the way.
    """

    items: Sequence[T]
    next: str | None = None
    damaged: Sequence[CorruptRun] = ()
