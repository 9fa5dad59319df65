"""What is decided between two places: which arrows were asked, and what they said."""

from collections.abc import Callable, Iterator
from typing import Any


class AskedView:
    """The state for whoever chooses what comes next, and who says what was asked about it.

    Args:
        view: Makes the state.

    Attributes:
        asked: What was asked, in order: the name of the condition, the node that it would lead to, what it said.
    """

    def __init__(self, view: Callable[[], Any]) -> None:
        self._view = view
        self.asked: list[tuple[str | None, str | None, bool]] = []

    def __call__(self) -> Any:
        """The state."""
        return self._view()

    def note(self, label: str | None, target: str | None, *, says: bool) -> None:
        """A condition was asked.

        Args:
            label: What it is called; None for a way that is always open.
            target: Where it would lead; None out of the pattern.
            says: Its answer.
        """
        self.asked.append((label, target, says))


class Decisions:
    """Takes note of the arrows that are followed from one place to the next."""

    def __init__(self) -> None:
        self._found: list[tuple[str, AskedView, str | None]] = []
        self._open: tuple[str, AskedView] | None = None

    def begin(self, path: str, view: Callable[[], Any]) -> AskedView:
        """An arrow is about to be followed; returns the state for it."""
        asked = AskedView(view)
        self._open = (path, asked)
        return asked

    def end(self, target: str | None) -> None:
        """It has led to a place, or out of the plan."""
        assert self._open is not None  # noqa: S101  # it has begun
        self._found.append((*self._open, target))
        self._open = None

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Those where there was something to ask, as values for JSON; the last one may have found no way on."""
        for path, view, target in self._found:
            if view.asked:
                yield {"path": path, "to": target, "asked": view.asked}
        if self._open is not None:
            path, view = self._open
            yield {"path": path, "to": None, "asked": view.asked, "failed": True}
