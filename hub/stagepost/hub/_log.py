"""Logging that never configures anything and never prints: that is the application's business.

structlog is imported with the first logger, not with this module: it brings rich along where that is installed, which
would be a third of the time that importing the hub takes.
"""

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

_ROOT: Final = "stagepost"

logging.getLogger(_ROOT).addHandler(logging.NullHandler())


def get_logger(name: str | None = None) -> "BoundLogger":
    """Return a structlog logger over the standard library's logger ``stagepost`` or one below it.

    What it writes goes wherever the application sends the logger ``stagepost``: to a
    `structlog.stdlib.ProcessorFormatter` as fields, to any other formatter as the text of a dictionary. Without a
    handler it goes nowhere.

    Args:
        name: The part after ``stagepost.``, e.g. ``"workflows"``.
    """
    import structlog  # noqa: PLC0415  # see above
    from structlog.contextvars import merge_contextvars  # noqa: PLC0415
    from structlog.stdlib import BoundLogger, ProcessorFormatter, add_log_level, filter_by_level  # noqa: PLC0415

    target = logging.getLogger(_ROOT if name is None else f"{_ROOT}.{name}")
    logger: BoundLogger = structlog.wrap_logger(
        target,
        wrapper_class=BoundLogger,
        processors=[filter_by_level, merge_contextvars, add_log_level, ProcessorFormatter.wrap_for_formatter],
        context_class=dict,
    )
    return logger
