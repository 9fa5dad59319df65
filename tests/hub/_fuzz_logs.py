"""Logs that go nowhere: pytest would keep each record, with all that its error's traceback refers to."""

import io
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeAlias

ExcInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class BriefFormatter(logging.Formatter):
    """Asks errors for their text, but leaves out tracebacks, which cost more than all the rest."""

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - logging calls it so
        return "".join(traceback.format_exception_only(ei[1]))


@contextmanager
def logs_to_nowhere(*handlers: logging.Handler) -> Iterator[None]:
    """Write what the hub logs to nowhere, or to these handlers only. Afterwards all is as before."""
    logger, nowhere = logging.getLogger("stagepost"), logging.StreamHandler(io.StringIO())
    nowhere.setFormatter(BriefFormatter())
    before = logger.handlers, logger.propagate, logging.raiseExceptions
    logger.handlers, logger.propagate, logging.raiseExceptions = list(handlers) or [nowhere], False, False
    try:
        yield
    finally:
        logger.handlers, logger.propagate, logging.raiseExceptions = before
