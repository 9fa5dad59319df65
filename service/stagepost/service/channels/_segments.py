"""How many messages of 140 bytes an SMS is: GSM 03.38 with its extension table, or else UCS-2.

Source: 3GPP TS 23.038 (alphabet) and 23.040 (six bytes of header if there are several segments).
"""

from collections.abc import Iterable
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

_BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENDED: Final = frozenset("\f^{}\\[~]|€")  # an escape before each
_BEYOND: Final = 0xFFFF  # characters above take two units of UCS-2
_SEPTETS: Final = (160, 153)  # of one segment alone, of one among several
_UNITS: Final = (70, 67)


class SmsSegments(BaseModel):
    """What providers count and bill.

    Attributes:
        encoding: GSM-7, or UCS-2 if a single character needs it.
        count: Segments.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoding: Literal["GSM-7", "UCS-2"]
    count: int


def sms_segments(texts: Iterable[str]) -> SmsSegments:
    """The segments of messages; the encoding is UCS-2 if one of them needs it."""
    texts = list(texts)
    each = [_is_gsm(text) for text in texts]
    count = sum(_count(text, is_gsm=is_gsm) for text, is_gsm in zip(texts, each, strict=True))
    return SmsSegments(encoding="GSM-7" if all(each) else "UCS-2", count=count)


def _is_gsm(text: str) -> bool:
    return all(character in _BASIC or character in _EXTENDED for character in text)


def _count(text: str, *, is_gsm: bool) -> int:
    alone, among = _SEPTETS if is_gsm else _UNITS
    widths = [_width(character, is_gsm=is_gsm) for character in text]
    if sum(widths) <= alone:
        return 1
    count, used = 1, 0
    for width in widths:  # neither an escape nor a surrogate stands in another segment than what follows it
        if used + width > among:
            count, used = count + 1, 0
        used += width
    return count


def _width(character: str, *, is_gsm: bool) -> int:
    is_double = character in _EXTENDED if is_gsm else ord(character) > _BEYOND
    return 2 if is_double else 1
