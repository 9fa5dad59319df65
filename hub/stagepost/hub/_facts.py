"""Errors constructed from facts, and how facts are shown in messages."""

from collections.abc import Sequence

NAMES_SHOWN = 10
"""How many names of a list a message shows."""
_LINE = 120


class FactError(Exception):
    """Base of errors whose constructors take facts and write the message; they can still be copied and pickled.

    The facts, their attributes, are copied; the cause is not, as with any exception.
    """

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), self.args), self.__dict__


def _revive(cls: type[FactError], args: tuple[object, ...]) -> FactError:
    error = cls.__new__(cls, *args)
    error.args = args  # an OSError, which TimeoutError is, leaves this to its constructor
    return error


def shown(value: object) -> str:
    """A value on one line, truncated if it is too long."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - the repr is somebody else's code
        text = f"a {type(value).__qualname__}"
    return text if len(text) <= _LINE else f"{text[:_LINE]}…"


def some(names: Sequence[str], total: int | None = None) -> str:
    """The first names of a list, and how many more there are.

    Args:
        names: The list, or its part that is worth showing.
        total: The length of the whole list.
    """
    if not names:
        return "none"
    listed = names[:NAMES_SHOWN]
    more = (len(names) if total is None else total) - len(listed)
    return f"{', '.join(listed)} and {more} more" if more else ", ".join(listed)
