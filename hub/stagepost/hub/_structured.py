"""structlog loggers that write to those of the standard library. Imported with the first logger; see `get_logger`."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

from structlog import wrap_logger
from structlog.contextvars import merge_contextvars
from structlog.stdlib import (
    BoundLogger,
    PositionalArgumentsFormatter,
    ProcessorFormatter,
    add_log_level,
    filter_by_level,
)
from structlog.typing import WrappedLogger

from ._contained import attempt
from ._containment import class_name
from ._fields import Fields
from ._masks import Mask, masked
from ._traceback import traceback_text


def structured(target: logging.Logger, mask: Mask | None) -> BoundLogger:
    """A logger that writes `Fields` to another one. It never raises, even if handlers, filters or formatters do."""

    def write(_: WrappedLogger, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        error = _error_of(event.pop("exc_info", None))
        if mask is not None:
            event = {key: _hidden(value, mask) for key, value in event.items()}
        if error is not None:
            event["exception"] = traceback_text(error, mask)
        return event

    logger: BoundLogger = wrap_logger(
        target,
        wrapper_class=_ContainedLogger,
        processors=[
            filter_by_level,
            merge_contextvars,
            PositionalArgumentsFormatter(),
            write,
            add_log_level,
            _wrap,
        ],
        context_class=dict,
    )
    return logger


class _ContainedLogger(BoundLogger):
    """A logger that contains all errors in logging."""

    def _proxy_to_logger(self, method_name: str, event: str | None = None, *event_args: str, **event_kw: Any) -> Any:
        if method_name == "exception":  # the standard library's method would put the exception itself into the record
            method_name = "error"
            event_kw.setdefault("exc_info", True)
        try:
            return super()._proxy_to_logger(method_name, event, *event_args, **event_kw)
        except KeyboardInterrupt:
            raise
        except BaseException as failure:  # noqa: BLE001 - handlers, filters and formatters are somebody else's code
            attempt(self._resort, method_name, str(event), failure)

    def _resort(self, method_name: str, event: str, failure: BaseException) -> None:
        """Report through Python's last resort that an error was not logged, as handlers do for their own failures."""
        last, level = logging.lastResort, logging.getLevelNamesMapping().get(method_name.upper(), logging.ERROR)
        if logging.raiseExceptions and last is not None and level >= last.level:
            text = f"{event} (logging it failed: {class_name(type(failure))} from a handler, filter or formatter)"
            last.handle(logging.makeLogRecord({"name": self.name, "levelno": level, "msg": text}))


def _wrap(
    logger: WrappedLogger, name: str, event: MutableMapping[str, Any]
) -> tuple[tuple[MutableMapping[str, Any]], dict[str, Any]]:
    """The arguments of the call to the standard library's logger."""
    (fields,), options = ProcessorFormatter.wrap_for_formatter(logger, name, Fields(event))
    return (fields,), {**options, "stacklevel": _frames_of_structlog() + 1}


def _frames_of_structlog() -> int:
    """The number of frames between the logging code and the standard library's logger, which looks for that code."""
    frame, frames = sys._getframe(3), 0  # noqa: SLF001 - as logging and structlog do; 3 is who calls that logger
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, frames = frame.f_back, frames + 1
    return frames


def _is_ours(module: str) -> bool:
    return module == __name__ or module.partition(".")[0] == "structlog"


def _error_of(exc_info: object) -> BaseException | None:
    """The error of ``exc_info``, in any of the forms that logging accepts."""
    if isinstance(exc_info, tuple):
        exc_info = exc_info[1]
    if isinstance(exc_info, BaseException):
        return exc_info
    return sys.exc_info()[1] if exc_info else None


def _hidden(value: Any, mask: Mask) -> Any:
    """A value without secrets: text masked, anything else replaced by its masked repr if that contains a secret."""
    if isinstance(value, str):
        return masked(value, mask)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = repr(value)
    shown = masked(text, mask)
    return value if shown == text else shown
