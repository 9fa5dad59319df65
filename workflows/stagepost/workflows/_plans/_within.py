"""What encloses a place of a plan: the patterns around it, which say where a failure happened."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

from stagepost._dataclasses import dataclass

from ..errors import PatternError, WorkflowError


class Enclosing(Protocol):
    """A pattern as the one who says where a failure happened."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> str:
        """What it is, in one word."""
        ...

    def order(self, child: str) -> tuple[int, int] | None:
        """Position of a child and how many there are, if one comes after the other."""
        ...

    def failed(self, child: str, cause: BaseException, *, state: Any, trail: Sequence[str]) -> PatternError:
        """The error that names this pattern and its child."""
        ...


class Level(NamedTuple):
    """One pattern that encloses a place.

    Attributes:
        pattern: The pattern.
        child: By which name the place is reached in it; empty for the pattern itself.
        path: The pattern's own path in the plan; None if it is no pattern but a branch of one.
    """

    pattern: Enclosing
    child: str
    path: str | None

    @property
    def child_path(self) -> str:
        """The child's path."""
        return child_path(self.path or "", self.child)


@dataclass(frozen=True, slots=True)
class Within:
    """What encloses a place.

    Attributes:
        levels: Patterns, outermost first.
        node: Path of the innermost graph node that the place belongs to; None outside of graphs.
    """

    levels: tuple[Level, ...] = ()
    node: str | None = None

    def inside(self, pattern: Enclosing, child: str, path: str | None, *, node: str | None = None) -> "Within":
        """One level deeper; see `Level`."""
        return Within((*self.levels, Level(pattern, child, path)), node or self.node)

    def failure(self, error: BaseException, *, state: Any, trail: Sequence[str], own: bool = True) -> WorkflowError:
        """The error with everything around it, the cause of each being the one inside.

        Args:
            error: What went wrong.
            state: What the failing step saw.
            trail: Paths of the graph nodes entered so far.
            own: Whether the innermost pattern is still to be added; not so if it raised `error` itself.
        """
        for level in reversed(self.levels if own else self.levels[:-1]):
            outer = level.pattern.failed(level.child, error, state=state, trail=trail)
            outer.__cause__ = error
            error = outer
        return cast("WorkflowError", error)


def child_path(path: str, name: str) -> str:
    """The path of a child."""
    return f"{path}/{name}" if path else name
