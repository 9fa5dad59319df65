"""Signatures of thinking, which say where in its answer a block stood: so one that was left out or moved shows."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence
from dataclasses import dataclass

from tests.agents.providers._rules import signed


@dataclass(frozen=True, slots=True)
class Seal:
    """What a signature says.

    Attributes:
        place: Where among the signed parts of its answer this one stands.
        count: How many of them there are.
    """

    place: int
    count: int


def seal(text: str, place: int, count: int) -> str:
    """The signature of a text: base64, as real ones are."""
    head = f"{place}.{count}"
    return b64encode(f"{head}.{signed(f'{head}.{text}')}".encode()).decode()


def unseal(signature: str, text: str) -> Seal | None:
    """What a signature says; None if it is not the one of this text."""
    try:
        place, count, _ = b64decode(signature, validate=True).decode().split(".")
        found = Seal(int(place), int(count))
    except (Error, ValueError):
        return None
    return found if signature == seal(text, found.place, found.count) else None


def complete(seals: Sequence[Seal]) -> bool:
    """Whether these are all signed parts of one answer, in their order."""
    return [found.place for found in seals] == list(range(seals[0].count)) if seals else True


def hide(text: str, place: int, count: int) -> str:
    """A text that only the provider can read, with its signature in it."""
    return b64encode(f"{seal(text, place, count)} {text}".encode()).decode()


def unhide(data: str) -> tuple[str, Seal] | None:
    """The hidden text and what its signature says; None if the provider has not made it."""
    try:
        signature, text = b64decode(data, validate=True).decode().split(" ", 1)
    except (Error, ValueError):
        return None
    found = unseal(signature, text)
    return None if found is None else (text, found)
