"""URLs of webhooks: which can be, and what of them is shown."""

from typing import Final
from urllib.parse import urlsplit

from .._models._addresses import bare_address, shown_address
from ..errors import InvalidWebhook

_LONGEST: Final = 2000  # characters; more than that many servers refuse


def checked_url(url: object) -> str:
    """A URL that requests can be sent to.

    Raises:
        InvalidWebhook: It is none.
    """
    if not isinstance(url, str):
        raise InvalidWebhook(f"url={type(url).__name__}(…): give a text such as 'https://example.org/hook'")
    why = _flaw(url)
    if why is not None:
        raise InvalidWebhook(f"url={shown_address(url)!r:.200}: {why}; give one such as 'https://example.org/hook'")
    return url


def shown_url(url: str) -> str:
    """A URL as lists show it: without user and password, with stars for values."""
    return shown_address(url)


def host_of(url: str) -> str:
    """The host and port of a URL: all of it that logs show, since a path may be a secret, too."""
    return bare_address(url).split("/")[2].lower()


def _flaw(url: str) -> str | None:
    if len(url) > _LONGEST:
        return f"it has {len(url)} characters, and at most {_LONGEST} are taken"
    if any(letter.isspace() or not letter.isprintable() for letter in url):
        return "it has a space or a character that cannot be printed"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"it cannot be read ({error})"
    if parts.scheme not in {"http", "https"}:
        return "webhooks are sent by http or https"
    if not parts.hostname or port == 0:
        return "it names no host"
    return "what follows # is never sent" if parts.fragment else None
