"""Labels: what a run can be found by, given when it is started."""

from collections.abc import Mapping
from typing import Final

from .errors import LabelRefused

MOST: Final = 16
"""How many labels a run may have."""
LONGEST: Final = 200
"""How many characters the name or the value of one may have."""


def check_labels(labels: Mapping[str, str]) -> None:
    """See that labels can be stored.

    Raises:
        LabelRefused: There are too many, or one is no text, empty or too long.
    """
    if len(labels) > MOST:
        raise LabelRefused(f"there are {len(labels)} of them, and a run may have {MOST}")
    for name, value in labels.items():
        for text in (name, value):
            if not _is_valid(text):
                raise LabelRefused(f"{name!r:.80}: {value!r:.80} is not a pair of texts of 1 to {LONGEST} characters")


def _is_valid(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return 0 < len(text) <= LONGEST
