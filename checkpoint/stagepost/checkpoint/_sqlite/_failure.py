"""Why a run failed, as one text: what its error says and, after a separator, the traceback."""

from typing import Final

from .._records import Closing

_SEPARATOR: Final = "\x1e"  # ASCII's record separator


def failure_text(closing: Closing) -> str | None:
    """What is stored of a run's failure."""
    if closing.error is None:
        return None
    error = readable(closing.error).replace(_SEPARATOR, " ")
    return error if closing.traceback is None else f"{error}{_SEPARATOR}{readable(closing.traceback)}"


def split_failure(stored: str) -> tuple[str, str | None]:
    """The error and the traceback of a stored failure."""
    error, separator, traceback = stored.partition(_SEPARATOR)
    return error, traceback if separator else None


def readable(error: str) -> str:
    """An error's text, which may quote bytes that are no Unicode (names of files do), as text that can be stored."""
    return error.encode(errors="backslashreplace").decode()
