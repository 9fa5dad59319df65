"""Log records: fields for formatters that can use them, and readable text for all others."""

from typing import Any, Final

_EVENT: Final = "event"
_EXCEPTION: Final = "exception"
_NOT_SHOWN: Final = (_EVENT, _EXCEPTION, "level")  # a formatter has the level from the record


class Fields(dict[str, Any]):
    """The fields of a log record, as its ``msg``.

    `structlog.stdlib.ProcessorFormatter` and JSON formatters use it as a dictionary. For all others its text is one
    line, ``event key=value key=value``, followed by the lines of a traceback if there is one.
    """

    __slots__ = ()

    def __str__(self) -> str:
        fields = (f"{key}={_shown(value)}" for key, value in self.items() if key not in _NOT_SHOWN)
        line = " ".join([_escaped(_text(self.get(_EVENT, ""))), *fields])
        return f"{line}\n{_text(self[_EXCEPTION])}" if _EXCEPTION in self else line


def _text(value: object) -> str:
    """Text unchanged, anything else as its repr."""
    try:
        return str.__str__(value) if isinstance(value, str) else repr(value)
    except Exception:  # noqa: BLE001 - the repr is somebody else's code
        return f"<{type(value).__qualname__}>"


def _shown(value: object) -> str:
    """A value on one line, quoted if its end would be ambiguous."""
    text = _text(value)
    if not isinstance(value, str):
        return _escaped(text)
    is_word = text.isprintable() and not any(mark in text for mark in " '\"=")
    return text if text and is_word else repr(text)


def _escaped(text: str) -> str:
    return text if text.isprintable() else repr(text)[1:-1]
