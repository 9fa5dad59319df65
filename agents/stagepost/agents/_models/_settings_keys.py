"""What of settings is secret."""

from collections.abc import Iterator, Mapping
from typing import Final

from ._addresses import named_secrets
from ._settings import ModelSettings

_HEADERS: Final = ("extra_headers", "headers")
_KEYS: Final = ("api_key", "_api_key", "_token", "_secret", "_access_key")  # ends of options that hold keys


def settings_secrets(settings: ModelSettings) -> Iterator[str]:
    """What runs of an agent with these settings may not keep: keys in `extra`, and in its headers."""
    for name, value in settings.extra.items():
        if name in _HEADERS and isinstance(value, Mapping):
            yield from named_secrets(value, likely=True)
        elif isinstance(value, str) and name.lower().endswith(_KEYS):
            yield value
