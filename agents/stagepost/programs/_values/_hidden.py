"""What programs can use and models are not shown: values under names that begin with ``_``."""

from typing import Any, Final

from .._keyword import Keyword

HIDDEN: Final = "[Hidden]"


def is_firewalled(key: Any) -> bool:
    """Whether models are not shown what is under a key."""
    return isinstance(key, str) and (key.twin if isinstance(key, Keyword) else key).startswith("_")
