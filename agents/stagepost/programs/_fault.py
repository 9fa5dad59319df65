"""What ends a program early; nothing of this module leaves ``stagepost.programs``."""

from typing import Any, Final


class Fault(Exception):
    """An error of the program.

    Attributes:
        kind: Such as ``type_error``.
        text: What is wrong.
        hint: What to write instead.
        place: Offset in the source.
    """

    def __init__(self, kind: str, text: str, hint: str | None = None, place: int | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.hint = hint
        self.place = place

    def at(self, place: int) -> "Fault":
        """The same error, at this place unless it has one."""
        if self.place is None:
            self.place = place
        return self


class Returned(Exception):
    """The program called ``return``."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Failed(Exception):
    """The program called ``fail``."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


TYPE: Final = "type_error"
ARITY: Final = "arity_error"


def refused(text: str, place: int | None = None, hint: str | None = None) -> Fault:
    """The error of a program that is refused before it runs."""
    return Fault("analysis_error", text, hint, place)
