"""The secrets of webhooks, as they are given."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ._signing import keys_of

WebhookSecret: TypeAlias = str | Sequence[str] | Callable[[str], str | Sequence[str]]
"""``whsec_…``, several of them, or a function that gives them for a URL."""


def keys_for(secret: WebhookSecret) -> Callable[[str], Sequence[bytes]]:
    """The keys to sign with, by URL.

    Args:
        secret: Secrets for all URLs, or a function.

    Raises:
        InvalidWebhook: One is none; those of a function are looked at when they are needed.
    """
    if not callable(secret):
        keys = keys_of(secret)
        return lambda _url: keys
    return lambda url: keys_of(secret(url))
