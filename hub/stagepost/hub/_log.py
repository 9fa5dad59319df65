"""Logging that never configures anything and never prints: both are up to the application.

Our loggers have no handler, not even a `NullHandler`: so Python itself prints warnings and errors to standard error in
a program that has not configured logging.
"""

import logging
from typing import TYPE_CHECKING, Final

from ._masks import Mask

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_ROOT: Final = "stagepost"


def get_logger(name: str | None = None, *, mask: Mask | None = None) -> "BoundLogger":
    """Return a structlog logger over the standard library's logger ``stagepost`` or one below it.

    Its records go wherever the application sends the logger ``stagepost``: to a
    `structlog.stdlib.ProcessorFormatter` or a JSON formatter as fields, to any other formatter as one line
    ``event key=value key=value``. Without any configuration Python prints warnings and errors to standard error.

    An exception (``exc_info=error``, or `exception` in an ``except`` clause) becomes the text of its traceback, in the
    field ``exception``; see `traceback_text`. The record never holds the exception itself, since formatters would
    print its local variables. Handlers, filters and formatters that raise do not harm the code that logs.

    Args:
        name: The part after ``stagepost.``, e.g. ``"workflows"``.
        mask: Masks secrets in all text that is logged. If it raises, the whole text is hidden.
    """
    from ._structured import structured  # noqa: PLC0415 - structlog brings rich along, which is a third of our import

    return structured(logging.getLogger(_ROOT if name is None else f"{_ROOT}.{name}"), mask)
