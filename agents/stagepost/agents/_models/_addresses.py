"""Secrets in URLs, headers and variables, and what may be shown of them."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote_plus

_MASK: Final = "***"
_USER: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://|//)?([^/?#]*)@")
_BEHIND: Final = re.compile(r"[?#].*", re.DOTALL)
_PAIR: Final = re.compile(r"([?#&;]?)([^=&;?#]*)(=?)([^&;#]*)")
_VALUE: Final = re.compile(r"(?<=[=?&;#])[^=&;?#]+(?=[&;#]|$)|(?<==)[^&;#]+")
_KEY_NAME: Final = re.compile(
    r"key|token|secret|passw|pwd|credential|auth|cookie|session|signature|(?:^|[_-])(?:sig|code|pat|jwt)$",
    re.IGNORECASE,
)
_LONG: Final = 16  # characters; a value of this length is not a region or a version


def shown_address(url: str) -> str:
    """A URL without user name and password, with stars for the values after the path."""
    plain = _USER.sub(r"\1", url, count=1)
    return _BEHIND.sub(lambda found: _VALUE.sub(_MASK, found[0]), plain, count=1)


def bare_address(url: str) -> str:
    """A URL without user name and password, and without everything after the path."""
    return _BEHIND.sub("", _USER.sub(r"\1", url, count=1), count=1)


def address_secrets(url: str, *, likely: bool = False) -> Iterator[str]:
    """The secrets in a URL, encoded and decoded.

    Args:
        url: The address.
        likely: Only values that are named like a key, or long: others may be ordinary words.
    """
    user = _USER.match(url)
    if user is not None:
        name, colon, password = user[2].partition(":")
        yield from _both(password if colon and password else name)
        if not likely and colon:
            yield from _both(name)
    behind = _BEHIND.search(url)
    for pair in _PAIR.finditer(behind[0] if behind else ""):
        name, value = (pair[2], pair[4]) if pair[3] else ("", pair[2])
        if not likely or len(value) >= _LONG or _KEY_NAME.search(name):
            yield from _both(value)


def named_secrets(values: Mapping[str, object], *, likely: bool = False) -> Iterator[str]:
    """The values of headers or variables, with and without the scheme before a token.

    Args:
        values: By name.
        likely: Only those that are named like a key: the others may be ordinary words.
    """
    for name, value in values.items():
        if not likely or _KEY_NAME.search(name):
            text = str(value)
            yield text
            yield text.rpartition(" ")[2]


def _both(written: str) -> tuple[str, str]:
    return written, unquote_plus(written)
