"""Which pages there are."""

from collections.abc import Sequence
from typing import Final

from ._inbox import inbox
from ._shown import Answer, Build

PAGES: Final[Sequence[tuple[str, Build]]] = (("", inbox),)

ANSWERS: Final[Sequence[tuple[str, Answer]]] = ()
