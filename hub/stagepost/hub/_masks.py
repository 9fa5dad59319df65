"""Masks for secrets in logged text."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

Mask: TypeAlias = Callable[[str], str]

HIDDEN: Final = "(hidden: the mask failed)"


def masked(text: str, mask: Mask | None) -> str:
    """The masked text. If the mask raises, or returns anything but text, nothing of it is shown."""
    if mask is None:
        return text
    try:
        result: object = mask(text)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a mask is somebody else's code
        return HIDDEN
    return result if isinstance(result, str) else HIDDEN


class Masks:
    """Several masks as one; masks can be added and removed."""

    __slots__ = ("_masks",)

    def __init__(self) -> None:
        self._masks: dict[object, Mask] = {}

    def __call__(self, text: str) -> str:
        """The text masked by all of them in turn."""
        for mask in tuple(self._masks.values()):
            text = masked(text, mask)
        return text

    @contextmanager
    def using(self, mask: Mask) -> Iterator[None]:
        """Add a mask for the length of a block."""
        key = object()
        self._masks[key] = mask
        try:
            yield
        finally:
            del self._masks[key]
