"""How large values may be."""

from dataclasses import field
from math import inf
from typing import Final

from stagepost._dataclasses import dataclass

from .errors import BlobTooLarge, ValueTooLarge


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes of JSON that one value may have; of a list that only grows, one element.

    A state is read and written as a whole, so what is large makes every step slow, and belongs elsewhere. Bytes that
    are kept beside the JSON, by their digest, have a limit of their own and count for no value.

    Attributes:
        refuse: The most that a value may have; None for no limit.
        warn: What a value may have without anybody being told; None for any number.
        blob: The most bytes that may be kept under one digest; None for no limit.
        least: A value of no more than this is neither refused, nor is anybody told of it.
    """

    refuse: int | None = 4 * 1024 * 1024
    warn: int | None = 256 * 1024
    blob: int | None = 20 * 1024 * 1024

    least: float = field(init=False, repr=False, compare=False)  # no property: each step looks at it

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", min(limit for limit in (self.refuse, self.warn, inf) if limit is not None))

    def mind(self, size: int) -> bool:
        """Whether there is anything to say about a size: `check` refuses it or wants somebody told."""
        return size > self.least

    def check(self, size: int, where: str) -> bool:
        """See whether a value may be stored; returns whether somebody should be told of it.

        Raises:
            ValueTooLarge: It may not.
        """
        if self.refuse is not None and size > self.refuse:
            raise ValueTooLarge(where, size, self.refuse)
        return self.warn is not None and size > self.warn

    def check_blob(self, size: int, where: str) -> None:
        """See whether bytes may be kept beside the JSON.

        Raises:
            BlobTooLarge: They may not.
        """
        if self.blob is not None and size > self.blob:
            raise BlobTooLarge(where, size, self.blob)


DEFAULT: Final = Limits()
