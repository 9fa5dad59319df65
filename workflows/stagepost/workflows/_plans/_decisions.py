"""What is decided between two places: which arrows were asked, and what they said."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """A condition that was asked where to go on.

    Attributes:
        label: What it is called; None for a way that is always open.
        target: Name of the node that it leads to; None out of the pattern.
        says: Its answer.
    """

    label: str | None
    target: str | None
    says: bool


class Decided(NamedTuple):
    """Where an arrow has led.

    Attributes:
        path: The arrow.
        to: Path of the place; None out of the plan, or if there was no way on.
        asked: What was asked, in order.
        failed: Whether there was no way on.
    """

    path: str
    to: str | None
    asked: list[Asked]
    failed: bool = False


class AskedView:
    """The state for whoever chooses what comes next, and who says what was asked about it.

    Args:
        view: Makes the state.

    Attributes:
        asked: What was asked about it, in order.
    """

    def __init__(self, view: Callable[[], Any]) -> None:
        self._view = view
        self.asked: list[Asked] = []

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
        self.asked.append(Asked(label, target, says))


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

    def __iter__(self) -> Iterator[Decided]:
        """Those where there was something to ask; the last one may have found no way on."""
        for path, view, target in self._found:
            if view.asked:
                yield Decided(path, target, view.asked)
        if self._open is not None:
            path, view = self._open
            yield Decided(path, None, view.asked, failed=True)
