"""Names of foreign tools as model providers take them."""

import re
from hashlib import sha256
from typing import Final

_LONGEST: Final = 64
_MARK: Final = 8
_REFUSED: Final = re.compile(r"[^a-zA-Z0-9_-]")


def tool_name(prefix: str, name: str) -> str:
    """A name of 1 to 64 letters, digits, ``_`` and ``-``, which are what all providers take.

    Other characters become ``_``; what is too long is cut and marked by a digest of the whole, so that the same tool
    always has the same name.
    """
    safe = _REFUSED.sub("_", prefix + name) or "_"
    if len(safe) <= _LONGEST:
        return safe
    digest = sha256((prefix + name).encode()).hexdigest()[:_MARK]
    return f"{safe[: _LONGEST - _MARK - 1]}_{digest}"
