"""Stored texts on a terminal: nothing in them moves its cursor, and nothing is too long for a table."""

import re
from typing import Final

# Control characters, those of C1 as well, and what turns the direction of text round: all but line feed and tab.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_IN_JSON: Final = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_PER_SHOWN: Final = 8  # characters that are looked at for each one that is shown, since spaces are left out
_SPACES: Final = re.compile(r"\s+")


def clean(text: str) -> str:
    r"""A text with its control characters written out, as ``\x1b``; its lines stay."""
    return _CONTROLS.sub(_escaped, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same in one line."""
    return clean(_SPACES.sub(" ", text).strip())


def shortened(text: str, length: int) -> str:
    """At most so many characters of a text in one line; an ellipsis stands for the rest."""
    line = one_line(text[: length * _PER_SHOWN])  # before what is not shown is looked at: values have no limit
    is_whole = len(line) <= length and len(text) <= length * _PER_SHOWN
    return line if is_whole else f"{line[: length - 1].rstrip()}…"


def clean_json(text: str) -> str:
    """JSON in which characters that are not for a terminal are escaped; it stands for the same value."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004  # two hexadecimal digits
