"""Numbers of a text and of data, as far as they can be compared."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import isfinite
from typing import Final

from pydantic import JsonValue

_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:,\d{3})+(?:\.\d+)?(?![\d])|\d+(?:[.,]\d+)?")
_CLOCK: Final = re.compile(r"(?<!\d)(\d{1,3}):([0-5]\d)(?!\d)")
_LIMIT: Final = 10_000  # numbers: a text of more is compared as far as that


def numbers_in(text: str) -> list[tuple[str, Decimal]]:
    """The numbers of a text, as they are written and as values; ``7:30`` is seven and a half."""
    found: list[tuple[str, Decimal]] = []

    def clock(match: re.Match[str]) -> str:
        found.append((match[0], Decimal(match[1]) + Decimal(match[2]) / 60))
        return " " * len(match[0])

    for match in _NUMBER.finditer(_CLOCK.sub(clock, text)):
        found.append((match[0], _value(match[0])))
        if len(found) >= _LIMIT:
            break
    return found


def numbers_of(data: JsonValue) -> set[Decimal]:
    """All numbers in JSON data: those in its texts (such as the parts of a date), and how long its lists are."""
    return set(_walk(data))


def is_known(written: str, value: Decimal, known: Sequence[Decimal]) -> bool:
    """Whether a number is one of some others, which are sorted, rounded as it is written."""
    place = bisect_left(known, value)
    nearest = known[max(0, place - 1) : place + 1]
    places = max(0, -int(value.as_tuple().exponent)) if ":" not in written else 2
    step = Decimal(1).scaleb(-places)
    return any(abs(each - value) * 2 <= step for each in nearest)  # a half may be rounded either way


def _walk(data: JsonValue) -> Iterator[Decimal]:
    match data:
        case bool() | None:
            return
        case float() if not isfinite(data):
            return  # nobody can write it
        case int() | float():
            yield Decimal(str(data)).copy_abs()
        case str():
            yield from (value for _, value in numbers_in(data))
        case list():
            yield Decimal(len(data))
            for each in data:
                yield from _walk(each)
        case dict():
            for key, each in data.items():
                yield from (value for _, value in numbers_in(key))
                yield from _walk(each)


def _value(written: str) -> Decimal:
    thousands = re.fullmatch(r"\d+(?:,\d{3})+(?:\.\d+)?", written)
    return Decimal(written.replace(",", "") if thousands else written.replace(",", "."))
