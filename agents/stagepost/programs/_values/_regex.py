"""Regular expressions, by an engine whose time is linear in the text."""

from functools import cache
from typing import Any, Final

from .._errors import PackageMissing
from .._fault import Fault
from .._limits import Limits
from ._types import Pattern

_MEMORY: Final = 1 << 20
_ABSENT: Final = (
    ("(?=", "lookahead"),
    ("(?!", "negative lookahead"),
    ("(?<=", "lookbehind"),
    ("(?<!", "negative lookbehind"),
)


def pattern(text: str, limits: Limits, place: int | None = None) -> Pattern:
    """The compiled expression.

    Raises:
        Fault: It is none, it is too long, or it needs what engines of linear time do not have.
    """
    if len(text.encode("utf-8", "replace")) > limits.pattern:
        raise Fault(
            "analysis_error",
            f"a regular expression has more than {limits.pattern} bytes; Limits(pattern=…) raises it",
            None,
            place,
        )
    for start, what in _ABSENT:
        if start in text:
            raise Fault("analysis_error", f"regular expressions have no {what}", "match more and take a group", place)
    return Pattern(text, _compiled(text, place))


def _compiled(text: str, place: int | None) -> Any:
    engine, options = _engine()
    try:
        return engine.compile(text, options)
    except engine.error as refused:
        reason = refused.args[0] if refused.args else "it cannot be read"
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise Fault("analysis_error", f"not a regular expression: {reason}", None, place) from None


@cache
def _engine() -> tuple[Any, Any]:
    try:
        import re2  # noqa: PLC0415 - an extra
    except ImportError:
        raise PackageMissing("regular expressions of programs", "google-re2") from None
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return re2, options
